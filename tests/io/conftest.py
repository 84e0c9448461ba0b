"""Fixtures of the tests of downloads."""

from __future__ import annotations

from tests.servers.fixtures import running_site, server

__all__ = ["running_site", "server"]

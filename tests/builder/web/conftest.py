"""The server of the tests of fetched pages."""

from __future__ import annotations

from tests.servers.fixtures import running_site, server

__all__ = ["running_site", "server"]

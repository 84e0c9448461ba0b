"""A faulty server for all tests of pages and downloads; its script is empty at the start of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.io.asking import CONTENT
from tests.servers.faulty_site import FaultServer, running_server


@pytest.fixture(scope="module")
def running_site() -> Iterator[FaultServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def server(running_site: FaultServer, monkeypatch: pytest.MonkeyPatch) -> FaultServer:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running_site.files, running_site.scripts, running_site.asked, running_site.heads = {"en.json": CONTENT}, {}, [], []
    return running_site

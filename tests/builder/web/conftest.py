"""One misbehaving server for all tests of downloads, its script blank at the start of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builder.web.asking import CONTENT
from tests.builder.web.fault_server import FaultServer, running_server


@pytest.fixture(scope="module")
def _running() -> Iterator[FaultServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def server(_running: FaultServer, monkeypatch: pytest.MonkeyPatch) -> FaultServer:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    _running.files, _running.scripts, _running.asked, _running.heads = {"en.json": CONTENT}, {}, [], []
    return _running

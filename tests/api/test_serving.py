"""Pages that Python serves in the background."""

from __future__ import annotations

from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import ragbed
from ragbed.api.serving import PageServer
from ragbed.reporting.table import Result


def _status(url: str) -> int:
    address, _, token = url.partition("#")
    with urlopen(Request(address, headers={"Authorization": f"Bearer {token}"}), timeout=10) as answer:
        status: int = answer.status
        return status


def test_a_viewer_serves_until_it_is_closed(tmp_path: Path) -> None:
    run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=2, out=tmp_path / "run")
    with ragbed.view(run, port=0) as server:
        assert _status(server.url) == 200
        assert "1 run" in repr(server)
        assert server.url.partition("#")[0] in server._repr_html_()
    with pytest.raises(OSError, match="refused"):
        _status(server.url)


def test_a_page_that_cannot_be_opened_raises_in_the_caller(tmp_path: Path) -> None:
    with pytest.raises(ragbed.UsageError):
        ragbed.view(tmp_path / "nowhere", port=0)
    with pytest.raises(ragbed.RagbedError):
        ragbed.review(tmp_path / "nowhere.jsonl", port=0)


def test_a_review_is_served_and_applied(tmp_path: Path) -> None:
    ragbed.synthesize(tmp_path / "built", items=3, lang="en", integration=0, counterfactual=0, workers=1)
    data = tmp_path / "built/en_base.jsonl"
    server = ragbed.review(data, port=0, progress=False)
    assert isinstance(server, PageServer)
    assert "3 items" in server.description
    server.close()
    applied = ragbed.review(data, apply=tmp_path / "reviewed")
    assert isinstance(applied, Result)
    assert (applied["applied"].unreviewed, "all measured gates passed" in applied.notes[-1]) == (3, True)

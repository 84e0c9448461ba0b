"""The log: nothing is lost that was confirmed, and nothing half is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ragbed.errors import DataError
from ragbed.ui.review.log import Decided, Log, PointDecision


def line(rater: str) -> Decided:
    said = (PointDecision(point="question", verdict="reject", reason="不清楚"),)
    return Decided(at="2026-11-15T12:00:00.000+00:00", rater=rater, item="a/1", digest="d", said=said)


def test_lines_come_back_as_they_were_added(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    assert log.lines == []
    log.replace([line("a")])
    log.replace([*log.lines, line("b")])
    assert Log(tmp_path / "log.jsonl").lines == [line("a"), line("b")]


@pytest.mark.parametrize("content", [b"My notes", b'{"at":"x"}', b'{"notes": 1}', b"a\nb"])
def test_a_file_of_something_else_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"log\.jsonl:1: this is not a valid line of a review"):
        Log(path)
    assert path.read_bytes() == content


def test_a_decision_that_does_not_fit_on_the_disk_is_reported_and_leaves_no_part(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    Log(path).replace([line("a")])
    told = subprocess.run([sys.executable, "-c", _CROWDED, str(path)], capture_output=True, text=True, check=True)
    assert "the decision was not stored" in told.stdout
    assert Log(path).lines == [line("a")]


_CROWDED = """
import resource, sys
from pathlib import Path
from ragbed.errors import RagbedError
from ragbed.ui.review.log import Log
from ragbed.ui.review.log import Decided, PointDecision
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
said = (PointDecision(point="question", verdict="fix", fix="x" * 4000),)
try:
    Log(Path(sys.argv[1])).replace([Decided(at="", rater="b", item="a/1", digest="d", said=said)])
except RagbedError as error:
    print(error)
"""
"""In a process that may write 2,000 bytes to a file."""

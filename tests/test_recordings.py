"""What ragbed sends, reports and prints is what has been recorded; see `scripts/record`."""

from __future__ import annotations

import pytest

from ragbed.cli import COMMANDS
from scripts.record.recordings import recordings
from scripts.record.transcripts import FOLDER

_RECORDINGS = recordings()


@pytest.mark.parametrize("name", [name for name in _RECORDINGS if name != "verdicts"])  # these: tests/scoring
def test_nothing_differs_from_what_has_been_recorded(name: str) -> None:
    _RECORDINGS[name].check()


def test_every_command_has_a_transcript() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(COMMANDS)

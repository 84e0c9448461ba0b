"""The number of runs in a cassette is limited, so that a small file cannot fill the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.errors import DataError
from ragbed.interop.exports import cassette
from ragbed.interop.exports.cassette import replay
from ragbed.io.cassette import CassetteWriter


def test_a_cassette_of_too_many_runs_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cassette, "_MAX_RUNS", 3)
    path = tmp_path / "many.cassette"
    with open(path, "wb") as sink:
        tape = CassetteWriter(sink)
        tape.write(b'{"cassette": 1, "ragbed": "0"}')
        for number in range(4):
            tape.write(b'{"part": "run", "folder": "judge/%d", "settings": {}, "models": [], "cases": 0}' % number)
        tape.close()
    with pytest.raises(DataError, match="run 4 starts on this line, but a cassette can contain at most 3 runs"):
        replay(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()

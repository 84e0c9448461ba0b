"""A run whose folder is deleted during writing is stopped; a run without its lock is resumed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ragbed.errors import RagbedError
from ragbed.runs.execution import run
from ragbed.schema import Case, Completion
from tests.runs.harness import (
    PATIENCE_S,
    TalkingModel,
    agree,
    ask_nobody,
    canonical,
    make_job,
    serve,
    start,
    wait_until_asked,
)

_CASES = 600


@pytest.mark.parametrize("then", ["deleted", "moved", "replaced"])
def test_a_run_without_its_folder_stops(tmp_path: Path, then: str) -> None:
    folder = tmp_path / "run"

    def remove(case: Case) -> Completion:
        if folder.exists() and len(model.asked) == 10:
            folder.rename(tmp_path / "moved")
            if then == "deleted":
                shutil.rmtree(tmp_path / "moved")
            elif then == "replaced":
                folder.mkdir()
                (folder / "run.sqlite").touch()
        return agree(case)

    model = TalkingModel(remove, takes_s=0.1)
    with pytest.raises(RagbedError, match=r"run\.sqlite cannot be written: it was deleted, moved or replaced\."):
        run(make_job(folder, 1_000, model), ask_nobody)
    assert len(model.asked) < 200


def test_a_run_that_was_killed_is_resumed_without_its_lock(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serve(tmp_path / "calls") as endpoint:
        process = start(folder, _CASES, endpoint)
        wait_until_asked(endpoint, 50, process)
        process.kill()
        process.join()
        (folder / "lock").unlink()
        process = start(folder, _CASES, endpoint)
        process.join(PATIENCE_S)
        assert process.exitcode == 0
    assert canonical(folder).count(b"\n") == _CASES

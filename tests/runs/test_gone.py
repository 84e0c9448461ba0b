"""A run whose folder or lock is deleted during writing is stopped and saved."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from ragbed.errors import RagbedError
from ragbed.runs.execution import run
from ragbed.runs.lock import holder
from ragbed.runs.store import open_store
from tests.runs.harness import (
    SLOTS,
    TalkingModel,
    agree,
    ask_nobody,
    canonical,
    endpoint_size,
    make_job,
    replies,
    serve,
    start,
    wait_until_asked,
)

_CASES = 600


@pytest.mark.parametrize("then", ["deleted", "moved", "replaced"])
def test_a_run_without_its_folder_stops_and_is_saved_beside_it(tmp_path: Path, then: str) -> None:
    folder, saved = tmp_path / "run", tmp_path / "run.recovered"
    with serve(tmp_path / "calls", latency_s=0.05) as endpoint:
        process = start(folder, _CASES * 5, endpoint)
        wait_until_asked(endpoint, 100, process)
        if then == "deleted":
            shutil.rmtree(folder)
        else:
            folder.rename(tmp_path / "moved")
        if then == "replaced":
            folder.mkdir()
        asked = endpoint_size(endpoint)
        process.join(10)
        assert process.exitcode == 1
        after = endpoint_size(endpoint) - asked
        assert after < 1_000  # 320 per second
        kept = replies(saved)
        assert asked + after - len(kept) <= 2 * SLOTS
    with open_store(saved, create=False) as store:
        ((name, identity),) = store.models().values()
    run(make_job(saved, _CASES * 5, model := TalkingModel(agree, name, identity)), ask_nobody)
    assert len(model.asked) == _CASES * 5 - len(kept)


def test_the_message_says_where_the_results_are(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (tmp_path / "run.recovered").mkdir()

    def say(case: object) -> object:
        shutil.rmtree(folder, ignore_errors=True)
        return agree(case)  # type: ignore[arg-type]

    model = TalkingModel(say, takes_s=0.3)  # type: ignore[arg-type]
    told = rf"run\.sqlite was deleted, moved or replaced .* saved to {folder}\.recovered-2; to resume"
    with pytest.raises(RagbedError, match=told):
        run(make_job(folder, 100, model), ask_nobody)
    assert len(model.asked) < 40


def test_a_deleted_lock_lets_no_second_process_in(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serve(tmp_path / "calls", latency_s=0.2) as endpoint:
        first = start(folder, _CASES, endpoint)
        wait_until_asked(endpoint, 20, first)
        for _ in range(2):
            (folder / "lock").unlink(missing_ok=True)
            second = start(folder, _CASES, endpoint)
            second.join(10)
            assert (second.exitcode, first.is_alive()) == (1, True)
        (folder / "lock").unlink(missing_ok=True)
        while first.is_alive() and not (folder / "lock").exists():
            time.sleep(0.02)
        assert holder(folder) == str(first.pid)
        first.join(20)
        assert first.exitcode == 0
        assert endpoint_size(endpoint) == _CASES
    assert canonical(folder).count(b"\n") == _CASES


def test_a_run_that_was_killed_is_resumed_without_its_lock(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serve(tmp_path / "calls") as endpoint:
        process = start(folder, _CASES, endpoint)
        wait_until_asked(endpoint, 50, process)
        process.kill()
        process.join()
        (folder / "lock").unlink()
        process = start(folder, _CASES, endpoint)
        process.join(20)
        assert process.exitcode == 0
    assert canonical(folder).count(b"\n") == _CASES

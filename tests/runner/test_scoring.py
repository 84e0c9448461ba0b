"""Tables of a run do not depend on how many processes make them."""

from __future__ import annotations

from pathlib import Path

from ragbed.runner.running import run
from ragbed.runner.scoring import tabulate_run
from ragbed.schema import Case, Completion
from tests.runner.harness import TalkingModel, ask_nobody, make_job


def _answer(case: Case) -> Completion:
    if int(case.item) % 7 == 0:
        return Completion(outcome="error", error="timeout: no reply within 3 s")
    return Completion(outcome="ok", reply=f"It is gold-{int(case.item) % 10}.", finish="stop")


def test_several_processes_count_what_one_counts(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer)), ask_nobody)
    (alone,) = tabulate_run(tmp_path / "run", workers=1)
    assert (alone.asked, alone.error, alone.hits["correct"]) == (60, 9, 8)
    assert tabulate_run(tmp_path / "run", workers=2, worth=1) == [alone]

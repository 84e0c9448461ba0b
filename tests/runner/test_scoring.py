"""Tables of a run do not depend on how many processes make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragbed.engines.local import LocalEngine
from ragbed.runner.running import run
from ragbed.runner.scoring import Tally, tabulate_run
from ragbed.schema import Case, Completion
from tests.runner.harness import TalkingModel, ask_nobody, make_job


def _answer(case: Case) -> Completion:
    if int(case.item) % 7 == 0:
        return Completion(outcome="error", error="timeout: no reply within 3 s")
    return Completion(outcome="ok", reply=f"It is gold-{int(case.item) % 10}.", finish="stop")


def test_several_processes_count_what_one_counts(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 1200, TalkingModel(_answer)), ask_nobody)
    (alone,) = tabulate_run(tmp_path / "run", LocalEngine(1))
    assert (alone.asked, alone.error, alone.hits["correct"]) == (1200, 172, 8)
    with closing(LocalEngine(2, alone_s=0)) as engine:
        assert tabulate_run(tmp_path / "run", engine) == [alone]


def test_what_is_scored_while_others_are_waited_for_is_what_the_run_holds(tmp_path: Path) -> None:
    early: list[Tally] = []
    calls: list[bool] = []

    def score_one() -> bool:
        early[:] = early or [Tally(tmp_path / "run")]
        calls.append(early[0].go_on())
        return calls[-1]

    job = make_job(tmp_path / "run", 60, TalkingModel(_answer, takes_s=0.03))
    run(replace(job, meanwhile=score_one), ask_nobody)
    assert any(calls)
    assert early[0].finish() == tabulate_run(tmp_path / "run")


def test_a_tally_that_saw_an_error_which_was_mended_since_is_not_believed(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer)), ask_nobody)
    early = Tally(tmp_path / "run")
    assert [early.go_on() for _ in range(61)] == [True] * 60 + [False]
    run(make_job(tmp_path / "run", 60, TalkingModel(lambda _: Completion(outcome="ok", reply="gold-1"))), ask_nobody)
    assert early.finish() is None


def test_a_job_holds_few_results_however_often_each_case_was_asked(tmp_path: Path) -> None:
    run(replace(make_job(tmp_path / "run", 4, TalkingModel(_answer)), repeats=600), ask_nobody)
    jobs: list[int] = []

    class Counting(LocalEngine):
        def spread(self, work: Callable[[Any], Any], jobs_: Iterable[Any]) -> Iterator[Any]:
            for part in super().spread(work, jobs_):
                jobs.append(part.rows)
                yield part

    (cell,) = tabulate_run(tmp_path / "run", Counting(workers=1))
    assert cell.asked == 2_400
    assert jobs == [600] * 4

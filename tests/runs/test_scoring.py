"""The tables of a run do not depend on the number of processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Any

from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.execution import run
from ragbed.runs.scoring import ScoreCounts, tabulate_run
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case, Completion
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_job


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


class _Scoring:
    """Score the results of a run while it is running."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.came: deque[tuple[StoredResult, int]] = deque()
        self.scored: list[bool] = []

    def begin(self, store: RunStore) -> None:
        self.tally = ScoreCounts(self._folder, store.last_result(), self.came)

    def take(self, result: StoredResult, seal: int) -> None:
        self.came.append((result, seal))

    def go_on(self) -> bool:
        self.scored.append(self.tally.go_on())
        return self.scored[-1]


def test_scores_that_are_made_during_a_run_equal_those_of_the_stored_results(tmp_path: Path) -> None:
    early = _Scoring(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer, takes_s=0.03), follower=early), ask_nobody)
    assert any(early.scored)
    assert early.tally.finish() == tabulate_run(tmp_path / "run")


def test_results_of_earlier_sessions_are_scored_with_the_rest(tmp_path: Path) -> None:
    first, second = TalkingModel(agree), TalkingModel(agree, "test/second")
    run(make_job(tmp_path / "run", 60, first), ask_nobody)
    early = _Scoring(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, first, second, follower=early), ask_nobody)
    assert (len(first.asked), len(second.asked)) == (60, 60)
    assert [(cell.asked, cell.hits["correct"]) for cell in early.tally.finish() or ()] == [(60, 60)] * 2


def test_a_run_with_a_follower_is_complete_in_its_file(tmp_path: Path) -> None:
    early = _Scoring(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, TalkingModel(agree, takes_s=0.03), follower=early), ask_nobody)
    (tmp_path / "copy").mkdir()
    copyfile(tmp_path / "run" / "run.sqlite", tmp_path / "copy" / "run.sqlite")
    assert tabulate_run(tmp_path / "copy") == early.tally.finish()


def test_counts_with_an_error_that_was_replaced_are_rejected(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer)), ask_nobody)
    early = ScoreCounts(tmp_path / "run", 60, deque())
    while early.go_on():
        pass
    run(make_job(tmp_path / "run", 60, TalkingModel(agree)), ask_nobody)
    assert early.finish() is None


def test_a_job_has_few_results_for_any_number_of_repeats(tmp_path: Path) -> None:
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

"""A run is planned completely, resumed only with the same settings, and repeats only errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from ragbed.errors import RagbedError, Stopped, UsageError
from ragbed.models.base import WorkerLost
from ragbed.runs.budget import Budget, BudgetSpent
from ragbed.runs.execution import ShutdownHandler, run
from ragbed.runs.lock import hold
from ragbed.runs.merging import merge
from ragbed.runs.prices import TokenUsage
from ragbed.runs.status import read_status
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion
from tests.runs.harness import TalkingModel, agree, ask_nobody, canonical, make_case, make_job, replies

_FAILED = Completion(outcome="error", error="server: HTTP 500")


def test_every_case_is_called_once_and_infeasible_ones_never(tmp_path: Path) -> None:
    model = TalkingModel(agree)
    cases = [make_case(number, feasible=number % 3 > 0) for number in range(30)]
    run(make_job(tmp_path, 30, model, cases=lambda: cases), ask_nobody)
    assert sorted(model.asked) == sorted(case.case for case in cases if case.feasible)
    status = read_status(tmp_path)
    assert (status.cases, status.infeasible, status.models[0].planned, status.models[0].ok) == (30, 10, 20, 20)


def test_a_run_that_is_ended_by_another_thread_several_times_keeps_its_responses(tmp_path: Path) -> None:
    ending = ShutdownHandler()

    def end(*_: object) -> None:
        ending.end()
        ending.end()

    with pytest.raises(Stopped):
        run(make_job(tmp_path, 200, TalkingModel(agree, takes_s=0.01)), end, ending)
    kept = replies(tmp_path)
    assert 0 < len(kept) < 200
    run(make_job(tmp_path, 200, rest := TalkingModel(agree)), ask_nobody)
    assert len(replies(tmp_path)) == 200
    assert not set(rest.asked) & set(kept)


@pytest.mark.parametrize("reuses_prefixes", [True, False])
def test_the_time_left_is_that_of_what_is_pending_also_in_a_later_session(
    tmp_path: Path, reuses_prefixes: bool
) -> None:
    def answer(case: Case) -> Completion:
        return agree(case) if int(case.item) < 10 else _FAILED

    run(make_job(tmp_path, 13, TalkingModel(answer), repeats=2), ask_nobody)
    model = TalkingModel(agree, takes_s=0.01)
    if reuses_prefixes:
        model.reuses_prefixes = True  # type: ignore[attr-defined]
    left: list[tuple[int, int, float | None]] = []
    run(
        make_job(tmp_path, 13, model, repeats=2),
        lambda _, progress: left.append((progress.done, progress.finished, progress.seconds_left)),
    )
    assert [(done, finished) for done, finished, _ in left] == [(20 + count, count) for count in range(1, 7)]
    assert all(seconds is not None for _, _, seconds in left)
    assert left[-1][2] == 0


def test_repeats_are_called_and_stored_separately(tmp_path: Path) -> None:
    model = TalkingModel(agree)
    run(make_job(tmp_path, 5, model, repeats=3, settings={"repeats": "3"}), ask_nobody)
    assert sorted(model.asked) == sorted([make_case(number).case for number in range(5)] * 3)
    with open_store(tmp_path, create=False) as store:
        assert [result.repeat for result in store.results()] == [0, 1, 2] * 5


def test_a_plan_that_fails_half_way_leaves_none(tmp_path: Path) -> None:
    def broken() -> Iterator[Case]:
        yield make_case(0)
        raise UsageError("no more")

    with pytest.raises(UsageError, match="no more"):
        run(make_job(tmp_path, 2, TalkingModel(agree), cases=broken), ask_nobody)
    model = TalkingModel(agree)
    run(make_job(tmp_path, 2, model), ask_nobody)
    assert len(model.asked) == 2


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two cases are named made/7/"):
        run(make_job(tmp_path, 2, TalkingModel(agree), cases=lambda: [make_case(7), make_case(7)]), ask_nobody)


def test_only_errors_are_repeated(tmp_path: Path) -> None:
    sick = {make_case(number).case for number in (2, 5)}
    run(make_job(tmp_path, 9, TalkingModel(lambda case: _FAILED if case.case in sick else agree(case))), ask_nobody)
    assert read_status(tmp_path).models[0].errors == {"server": 2}
    well = TalkingModel(agree)
    run(make_job(tmp_path, 9, well), ask_nobody)
    assert set(well.asked) == sick
    assert (read_status(tmp_path).models[0].ok, read_status(tmp_path).models[0].error) == (9, 0)


def test_a_changed_model_is_refused_before_the_first_call(tmp_path: Path) -> None:
    run(make_job(tmp_path, 2, TalkingModel(agree, identity="old")), ask_nobody)
    changed = TalkingModel(agree, identity="new")
    with pytest.raises(UsageError, match=r"was old when .*\. It is now new"):
        run(make_job(tmp_path, 2, changed), ask_nobody)
    with pytest.raises(UsageError, match="It now reports no identity"):
        run(make_job(tmp_path, 2, TalkingModel(agree, identity="")), ask_nobody)
    assert not changed.asked


def test_an_identity_that_was_unknown_at_first_may_become_known(tmp_path: Path) -> None:
    run(make_job(tmp_path, 2, TalkingModel(agree, identity="")), ask_nobody)
    run(make_job(tmp_path, 2, TalkingModel(agree, identity="told")), ask_nobody)
    assert read_status(tmp_path).models[0].identity == "told"


def test_half_characters_in_a_reply_do_not_sink_the_run(tmp_path: Path) -> None:
    run(make_job(tmp_path, 1, TalkingModel(lambda _: Completion(outcome="ok", reply="a\ud800b"))), ask_nobody)
    assert list(replies(tmp_path).values()) == ["a\N{REPLACEMENT CHARACTER}b"]


def _one_dollar(usage: TokenUsage) -> Decimal:
    return Decimal(min(usage.get("in", 0), 1))


def test_a_new_run_that_fails_keeps_its_responses(tmp_path: Path) -> None:
    def say(case: Case) -> Completion:
        return agree(case) if int(case.item) < 5 else Completion(outcome="error", error="auth: HTTP 401")

    model = TalkingModel(say)
    model.concurrency = 1
    with pytest.raises(RagbedError, match="in a row ended in an error"):
        run(make_job(tmp_path / "run", 50, model), ask_nobody)
    assert read_status(tmp_path / "run").models[0].ok == 5


def test_a_process_that_cannot_lock_a_run_does_not_remove_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    monkeypatch.setattr(Path, "exists", lambda self, **_: self != folder and os.path.exists(self))  # noqa: PTH110
    with hold(folder):
        (folder / "run.sqlite").touch()
        with pytest.raises(RagbedError, match="is in use by process"):
            run(make_job(folder, 1, TalkingModel(agree)), ask_nobody)
        assert (folder / "run.sqlite").is_file()


def test_billed_failures_that_were_retried_count_in_the_budget_and_in_the_status(tmp_path: Path) -> None:
    failed = Completion(outcome="error", error="empty: no text", usage={"in": 1, "out": 2})
    for session in range(1, 4):
        budget = Budget(10.0, {"test/talking": _one_dollar})
        run(make_job(tmp_path, 3, TalkingModel(lambda _: failed), budget=budget), ask_nobody)
        (status,) = read_status(tmp_path).models
        assert (status.tokens_in, status.tokens_out) == (3 * session, 6 * session)
    budget, model = Budget(9.0, {"test/talking": _one_dollar}), TalkingModel(agree)
    with pytest.raises(BudgetSpent):
        run(make_job(tmp_path, 3, model, budget=budget), ask_nobody)
    assert model.asked == []
    merge([tmp_path], tmp_path / "merged")
    assert read_status(tmp_path / "merged").models[0].tokens_in == 9


def test_earlier_responses_without_a_price_count_0_in_the_budget_and_are_reported_once(tmp_path: Path) -> None:
    paid = Completion(outcome="ok", reply="yes", usage={"in": 1, "out": 0})
    run(make_job(tmp_path, 5, TalkingModel(lambda _: paid, "test/free")), ask_nobody)
    budget, told = Budget(6.0, {"test/talking": _one_dollar}), list[str]()
    run(make_job(tmp_path, 5, TalkingModel(lambda _: paid), budget=budget, tell=told.append), ask_nobody)
    assert told == ["the price of test/free is unknown; its earlier responses count as 0 in the budget."]
    assert [model.ok for model in read_status(tmp_path).models] == [5, 5]


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_equal_runs_are_equal_bytes_whatever_the_concurrency(concurrency: int, tmp_path: Path) -> None:
    model = TalkingModel(agree)
    model.concurrency = concurrency
    run(make_job(tmp_path / "a", 40, model), ask_nobody)
    run(make_job(tmp_path / "b", 40, TalkingModel(agree)), ask_nobody)
    assert canonical(tmp_path / "a") == canonical(tmp_path / "b")


def test_a_call_whose_worker_ended_is_made_again_and_named_as_maybe_paid_twice(tmp_path: Path) -> None:
    class OnWorkers(TalkingModel):
        async def complete(self, case: Case, repeat: int = 0) -> Completion:
            completion = await super().complete(case, repeat)
            if self.asked.count(case.case) <= {"3": 1, "7": 1000}.get(case.item, 0):
                raise WorkerLost("its node is gone")
            return completion

    run(make_job(tmp_path, 10, OnWorkers(agree)), ask_nobody)
    status = read_status(tmp_path)
    assert (status.models[0].ok, status.models[0].error, status.maybe_paid_twice) == (9, 1, 1 + 10)
    assert status.an_error == "server: 10 workers exited while running this case; the last error: its node is gone"
    with open_store(tmp_path, create=False) as store:
        assert {result.case.item: result.completion.attempts for result in store.results()}["3"] == 2


def test_a_run_that_has_no_memory_left_ends_as_such_and_is_gone_on_with(tmp_path: Path) -> None:
    class Hungry(TalkingModel):
        async def complete(self, case: Case, repeat: int = 0) -> Completion:
            if case.item == "7":
                raise MemoryError
            return await super().complete(case, repeat)

    with pytest.raises(MemoryError):
        run(make_job(tmp_path, 10, Hungry(agree)), ask_nobody)
    run(make_job(tmp_path, 10, TalkingModel(agree)), ask_nobody)
    assert len(replies(tmp_path)) == 10

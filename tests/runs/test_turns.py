"""Cases with several calls have intents, totals, cached responses and a budget like all others."""

from __future__ import annotations

import asyncio
import os
import signal
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec import structs

from ragbed.models.base import canonical
from ragbed.runs.budget import Budget, BudgetSpent
from ragbed.runs.execution import run
from ragbed.runs.forecast import forecast
from ragbed.runs.status import read_status
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Document
from tests.runs.harness import TalkingModel, ask_nobody, completions, make_case, make_job

_CALLS = 4
"""The calls of a case with three documents and the strategy `isolate`."""


class _Reader(TalkingModel):
    """Respond to one prompt at a time, each with a cost."""

    concurrency = 1

    def __init__(self, ends_after: int | None = None, fails_at: int | None = None) -> None:
        super().__init__(self._reply)
        self.sent: list[str] = []
        self._ends_after, self._fails_at = ends_after, fails_at

    def request(self, case: Case) -> bytes:
        return canonical(case.messages)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        if len(self.sent) == self._ends_after:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        return await super().complete(case, repeat)

    def _reply(self, case: Case) -> Completion:
        self.sent.append(case.messages[-1].content)
        if len(self.sent) - 1 == self._fails_at:
            return Completion(outcome="error", error="server: HTTP 500", usage={"in": 3}, attempts=2)
        usage = {"in": 10, "out": 1}
        return Completion(outcome="ok", reply=f"note {len(self.sent)}", finish="stop", usage=usage, latency_s=0.5)


def _case(number: int) -> Case:
    documents = tuple(
        Document(text=f"case {number} document {place}", stance="supports", kind="related", source=place)
        for place in range(_CALLS - 1)
    )
    plain = make_case(number)
    name = plain.case.replace("profile=robust", "profile=robust+isolate")
    return structs.replace(plain, case=name, profile="robust+isolate", documents=documents)


def _ask(folder: Path, model: _Reader, cases: int, **changes: object) -> None:
    made = [_case(number) for number in range(cases)]
    run(make_job(folder, cases, model, cases=lambda: made, **changes), ask_nobody)


def test_tokens_seconds_and_attempts_are_sums_and_every_call_is_stored(tmp_path: Path) -> None:
    _ask(tmp_path, _Reader(), 1)
    (done,) = completions(tmp_path)
    assert (done.outcome, done.reply, done.finish) == ("ok", "note 4", "stop")
    assert (done.usage, done.latency_s, done.attempts) == ({"in": 40, "out": 4}, 2.0, 4)
    assert [step.reply for step in done.steps] == ["note 1", "note 2", "note 3", "note 4"]
    assert "1. note 1\n2. note 2\n3. note 3\n" in done.steps[-1].messages[-1].content
    assert read_status(tmp_path).maybe_paid_twice == 0


@pytest.mark.parametrize("cache", [None, "cache"])
def test_a_failed_call_is_the_outcome_of_its_case_and_the_next_session_continues_with_it(
    cache: str | None, tmp_path: Path
) -> None:
    """Without a cache, the next session made all four calls again."""
    store = None if cache is None else tmp_path / cache
    _ask(tmp_path / "run", _Reader(fails_at=2), 1, cache=store)
    (done,) = completions(tmp_path / "run")
    assert (done.outcome, done.error, done.attempts, len(done.steps)) == ("error", "server: HTTP 500", 4, 3)
    assert done.usage == {"in": 23, "out": 2}
    again = _Reader()
    _ask(tmp_path / "run", again, 1, cache=store)
    assert len(again.sent) == 2
    (done,) = completions(tmp_path / "run")
    assert (done.usage, done.latency_s, done.attempts) == ({"in": 40, "out": 4}, 2.0, 4)
    assert not any(step.cached for step in done.steps)
    assert read_status(tmp_path / "run").models[0].tokens_in == 43  # with the failed call


@pytest.mark.parametrize("cache", [None, "cache"])
def test_a_run_that_ends_between_calls_continues_with_the_call_in_flight(cache: str | None, tmp_path: Path) -> None:
    """Three calls were reported as possibly paid twice, and without a cache, the answered two of them were."""
    folder, store = tmp_path / "run", None if cache is None else tmp_path / cache
    with pytest.raises(KeyboardInterrupt):
        _ask(folder, first := _Reader(ends_after=_CALLS + 2), 3, cache=store)
    status = read_status(folder)
    assert (status.models[0].ok, status.maybe_paid_twice) == (1, 1)
    again = _Reader()
    _ask(folder, again, 3, cache=store)
    assert len(first.sent) + len(again.sent) == 3 * _CALLS
    assert not set(first.sent) & set(again.sent)
    assert [(done.outcome, done.usage) for done in completions(folder)] == [("ok", {"in": 40, "out": 4})] * 3


@pytest.mark.parametrize("cache", [None, "cache"])
def test_each_response_is_in_the_file_before_the_next_request_is_sent(cache: str | None, tmp_path: Path) -> None:
    """So a killed run loses only the calls in flight; before, answered calls were sent again after a kill."""
    stored: list[int] = []

    class Watched(_Reader):
        async def complete(self, case: Case, repeat: int = 0) -> Completion:
            with open_store(tmp_path / "run", create=False) as store:
                stored.append(len(store.turns(1).get((1, 0), ())))
            return await super().complete(case, repeat)

    _ask(tmp_path / "run", Watched(), 1, cache=None if cache is None else tmp_path / cache)
    assert stored == [0, 1, 2, 3]


def test_what_was_paid_for_a_case_that_was_ended_half_way_counts_in_the_budget(tmp_path: Path) -> None:
    folder, cache = tmp_path / "run", tmp_path / "cache"
    price = {"test/talking": lambda usage: Decimal(min(usage.get("in", 0), 10))}
    with pytest.raises(KeyboardInterrupt):
        _ask(folder, _Reader(ends_after=_CALLS + 2), 3, cache=cache)
    told: list[str] = []
    with pytest.raises(BudgetSpent):
        _ask(folder, again := _Reader(), 3, cache=cache, budget=Budget(70.0, price), tell=told.append)
    # The result has four calls of ten, there are two turns, and a call without a response may have cost ten more.
    assert again.sent == []
    assert told == [
        "earlier calls to test/talking that have no stored response but may have been billed: 1. In the budget, "
        "each counts as the average cost."
    ]


def test_progress_counts_the_tokens_of_this_session_and_the_status_those_of_all(tmp_path: Path) -> None:
    """The status counted 20 tokens; those of the answered calls of the first session were lost."""
    folder, cache = tmp_path / "run", tmp_path / "cache"
    with pytest.raises(KeyboardInterrupt):
        _ask(folder, _Reader(ends_after=2), 1, cache=cache)
    seen: list[int] = []
    job = make_job(folder, 1, _Reader(), cases=lambda: [_case(0)], cache=cache)
    run(job, lambda _, progress: seen.append(progress.tokens_in))
    (model,) = read_status(folder).models
    assert (model.tokens_in, model.tokens_out) == (40, 4)
    assert seen == [20]


def test_a_forecast_counts_calls_and_not_cases(tmp_path: Path) -> None:
    told = asyncio.run(forecast(_Reader(), [_case(number) for number in range(10)], 1))
    assert (told.calls, told.tokens_in, told.tokens_out) == (10 * _CALLS, 400, 40)

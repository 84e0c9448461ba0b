"""Call a model once for every pending case, and store each result before the next call."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from ragbed.models.base import ENDED_EARLY, Model, WorkerLost
from ragbed.models.failures import Failure, failed
from ragbed.runs.budget import BudgetDenied, CallMeter
from ragbed.runs.cache import Cache, key_of
from ragbed.runs.call_log import CallLog
from ragbed.runs.circuit_breaker import CircuitBreaker
from ragbed.runs.decided import DecidedInterval
from ragbed.runs.prices import usages_made
from ragbed.runs.store import (
    ANSWERED,
    FORGET_TURNS,
    INTEND,
    LOSE,
    NOTE,
    RECORD,
    REPLACED,
    Called,
    CallRequest,
    RunStore,
    StoredResult,
)
from ragbed.runs.turns import make_calls, plan_calls, starts_over
from ragbed.runs.writer import Writer
from ragbed.schema import Case, Completion
from ragbed.text import storable

if TYPE_CHECKING:
    from ragbed.runs.execution import Job

_MAX_WORKERS_LOST = 10  # maximum number of cluster workers that may die during one case before the case fails


class CallProgress(msgspec.Struct):
    """The progress of the calls to one model.

    `finished` counts this session's cases whose responses were not cached. `seconds_left` is an estimate, or None
    before the first case is finished.
    """

    total: int
    done: int = 0
    cached: int = 0
    outcomes: dict[str, int] = {}
    tokens_in: int = 0
    tokens_out: int = 0
    finished: int = 0
    seconds_left: float | None = None

    def count(self, completion: Completion, *, cached: bool) -> None:
        """Count a finished case's result."""
        self.done += 1
        self.finished += not cached
        self.cached += cached
        self.outcomes[completion.outcome] = self.outcomes.get(completion.outcome, 0) + 1

    def count_tokens(self, completion: Completion) -> None:
        """Count the tokens of a response that was not cached."""
        usage = completion.usage or {}
        self.tokens_in += usage.get("in", 0)
        self.tokens_out += usage.get("out", 0)


_PendingResult: TypeAlias = tuple[asyncio.Future[None], StoredResult]  # the future is done once the result is on disk


class StoppingRule(Protocol):
    """A rule that decides when to stop calling a model."""

    def begin(self, store: RunStore, model: int) -> None:
        """Initialise the rule with the results that are already stored for a model."""

    def take(self, result: StoredResult) -> None:
        """Receive a result that has been stored on disk."""

    def is_over(self, model: str) -> bool:
        """Return whether a model needs no further calls."""

    def decided(self) -> list[DecidedInterval]:
        """Return the outcomes of the stopping conditions."""


class Session(msgspec.Struct, frozen=True):
    """The state shared by all models in a session of a run."""

    job: Job
    store: RunStore
    writer: Writer
    number: int
    cache: Cache | None


@dataclass
class CallLoop:
    """The loop that makes the pending calls to one model.

    Attributes:
        number: The model's number in the store.
        identity: The model's identity.
        watch: Called after every result.
    """

    session: Session
    model: Model
    number: int
    identity: str
    progress: CallProgress
    watch: Callable[[CallProgress], None]
    _workers: int = 0

    def __post_init__(self) -> None:
        # Cache keys also contain the base URLs and the sampling parameters that the user has set.
        self.cache_identity = " ".join(filter(None, [self.identity, getattr(self.model, "cache_scope", "")]))
        self._breaker = CircuitBreaker(
            self.model.name, self.model.advice, self.session.job.parameter_fix, has_responses=self.progress.done > 0
        )
        # Responses from a model without an identity are not reused by default, because it may have changed.
        is_cached = not (getattr(self.model, "answers_afresh", False) or getattr(self.model, "replays", False))
        is_cached = is_cached and bool(self.identity or self.session.job.reuses_all)
        self._cache = self.session.cache if is_cached else None
        self._started = time.monotonic()
        self._turns = self.session.store.turns(self.number)
        self._billed = dict(self._billed_failures())
        self._meter: CallMeter | None = None
        if self.session.job.budget is not None:
            # Only HTTP models in this process reserve each request; others may repeat one with a higher token limit.
            repeats = not getattr(self.model, "meters_requests", False) and "auto" in self.cache_identity.split()
            self._meter = CallMeter(self.session.job.budget, self.model.name, self.session.job.tell, repeats=repeats)
        self._call_log = CallLog(self.session.store, self.session.writer, self.model, self.session.job.tell)

    async def run(self) -> None:
        """Make pending calls until every case has an outcome, the stopping rule is met or the budget is spent.

        Calls in flight are always completed, because they are billed.
        """
        store, repeats, rule = self.session.store, self.session.job.repeats, self.session.job.rule
        by_prompt = getattr(self.model, "reuses_prefixes", False) and rule is None
        pending = store.pending(self.number, repeats, by_prompt=by_prompt, by_question=rule is not None)
        if store.wanted is not None:
            pending = self._leave_out(pending, store.wanted)
        if rule is not None:
            rule.begin(store, self.number)
            pending = itertools.takewhile(lambda _: not rule.is_over(self.model.name), pending)
        self._started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            if hasattr(self.model, "make_room"):
                growing: Any = self.model
                growing.make_room = lambda: self._start_workers(group, pending)
            self._start_workers(group, pending)
        self._tell_fix()

    def _tell_fix(self) -> None:
        """Tell the user what to do if every call has failed."""
        if fix := self._breaker.fix:
            self.session.job.tell(f"{self.model.name}: {fix}")

    def _leave_out(self, pending: Iterator[CallRequest], wanted: Container[str]) -> Iterator[CallRequest]:
        """Yield the calls for wanted cases; an earlier command with another selection may have planned further ones."""
        for request in pending:
            if request.case.case in wanted:
                yield request
            else:
                self.progress.total -= 1

    def _billed_failures(self) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
        """Yield a row that keeps the usage of each failed call once the result of a retry replaces the failure."""
        for call, session, completion in self.session.store.failures(self.number):
            usages = usages_made(completion)
            # Unless the case starts over, the result of the retry includes the turns before the failed call.
            if (call.number, call.repeat) in self._turns and not starts_over(completion):
                usages = usages[-1:]
            if usages := [usage for usage in usages if usage]:
                key = f"{REPLACED}{call.model}.{call.number}.{call.repeat}.{session}"
                yield (call.number, call.repeat), (key, msgspec.json.encode(usages).decode())

    def _start_workers(self, group: asyncio.TaskGroup, pending: Iterator[CallRequest]) -> None:
        while self._workers < self.model.concurrency:
            self._workers += 1
            work = self._work(pending)
            try:
                group.create_task(work)
            except RuntimeError:  # the task group is shutting down; do not schedule more work
                work.close()
                return

    async def _work(self, pending: Iterator[CallRequest]) -> None:
        """Make calls one by one. Rows are written in order, so a result is stored before the next call is recorded."""
        waiting: list[_PendingResult] = []
        for request in pending:
            calls = await plan_calls(request.case, self.model, self.session.job.episodes)
            stored = self._turns.pop((request.number, request.repeat), [])
            try:
                called = await make_calls(
                    calls, partial(self._call, request, waiting), stored, partial(self._store_turn, request)
                )
            except BudgetDenied:
                break
            waiting.append(self._store(request, called))
            if called.cached:
                self._breaker.has_responses = True
                await self._settle(waiting)
                continue
            self._breaker.learn(called.completion)
            if self._workers > self.model.concurrency:
                break
        self._workers -= 1
        await self._settle(waiting)

    def _store_turn(self, request: CallRequest, turn: int, called: Called) -> None:
        """Store the response to one of a case's calls, so that it is not requested again after an interruption."""
        if not called.cached:  # for a cached response, no intent was recorded
            self.session.writer.put(ANSWERED, (request.model, request.number, request.repeat))
        self.session.writer.put(NOTE, (request.turn_key(turn), msgspec.json.encode(called).decode()))

    async def _complete(self, request: CallRequest, case: Case) -> Completion:
        """Repeat the call until it has an outcome. A call whose worker died is recorded, as it may have been billed."""
        for lost in range(_MAX_WORKERS_LOST):
            try:
                completion = await self.model.complete(case, request.repeat)
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                # The task group would treat this worker as finished and leave its other cases pending.
                return failed(Failure("exception", "CancelledError, although the run was not cancelled"))
            except WorkerLost as error:
                last = error
                await self.session.writer.put(LOSE, self._intent(request))
            else:
                # Some model objects report truncation only in the finish reason.
                if completion.outcome == "ok" and completion.finish in ENDED_EARLY:
                    completion = msgspec.structs.replace(completion, outcome="truncated")
                return msgspec.structs.replace(completion, attempts=completion.attempts + lost) if lost else completion
        message = f"{_MAX_WORKERS_LOST} workers exited while running this case; the last error: {last}"
        return failed(Failure("server", message), _MAX_WORKERS_LOST)

    def _intent(self, request: CallRequest) -> tuple[object, ...]:
        return (request.model, request.number, request.repeat, self.session.number, time.time())

    async def _call(self, request: CallRequest, waiting: list[_PendingResult], case: Case) -> Called:
        """Return the cached response, or make a call after recording on disk that it is about to be made.

        Args:
            request: The case and its repeat.
            waiting: Results that are on disk as soon as the call is recorded.
            case: The case with the messages of this call.

        Raises:
            BudgetDenied: The budget does not cover the call.
        """
        body = self.model.request(case)
        key = self._key(request, body)
        if (cached := self._find_cached(key)) is not None:
            return cached
        if self._meter is not None:
            await self._meter.begin(body)
        try:
            await self.session.writer.put(INTEND, self._intent(request))
            await self._settle(waiting)
            completion = await self._complete(request, case)
            if self._meter is not None:
                self._meter.settle_rest(completion)
        except BudgetDenied:
            self._withdraw(request)
            raise
        finally:
            if self._meter is not None:
                self._meter.end()
        self.progress.count_tokens(completion)
        self._call_log.add(completion)
        return Called(self._keep(key, completion), key)

    def _withdraw(self, request: CallRequest) -> None:
        """Remove the intent of a call that the budget has ended, and keep the usage of the requests that were sent."""
        self.session.writer.put(ANSWERED, (request.model, request.number, request.repeat))
        if usages := [] if self._meter is None else self._meter.end():
            key = f"{REPLACED}{request.model}.{request.number}.{request.repeat}.{self.session.number}"
            self.session.writer.put(NOTE, (key, msgspec.json.encode(usages).decode()))

    def _key(self, request: CallRequest, body: bytes) -> str:
        return key_of(self.model.name, self.cache_identity, body, request.repeat)

    def _find_cached(self, key: str) -> Called | None:
        """Return the cached response to a request, or None if there is none."""
        found = None if self._cache is None else self._cache.find(key)
        if found is None:
            return None
        completion, at = found
        self._call_log.add(completion, cached=True)
        return Called(completion, key, at)

    def _keep(self, key: str, completion: Completion) -> Completion:
        """Cache a response, and return it in a form that can be stored."""
        try:
            msgspec.json.encode(completion)
        except UnicodeEncodeError:
            # Replace surrogates, which cannot be encoded as UTF-8.
            text = json.dumps(msgspec.to_builtins(completion), ensure_ascii=False)
            completion = msgspec.json.decode(storable(text), type=Completion)
        if self._cache is not None:
            self._cache.keep(key, completion)
        return completion

    def _store(self, request: CallRequest, called: Called) -> _PendingResult:
        store, number, completion = self.session.store, self.session.number, called.completion
        row = store.row(request, number, called.key, completion, called.cached)
        result = StoredResult(
            request.case, self.model.name, request.repeat, completion, called.key, called.cached, request.number
        )
        if (billed := self._billed.pop((request.number, request.repeat), None)) is not None:
            self.session.writer.put(NOTE, billed)
        # The retry of a failed case continues with the call that failed, unless it starts over.
        if completion.steps and (completion.outcome != "error" or starts_over(completion)):
            self.session.writer.put(FORGET_TURNS, request.turn_range())
        return self.session.writer.put(RECORD, row), result

    async def _settle(self, waiting: list[_PendingResult]) -> None:
        """Wait until results are on disk, and report each of them."""
        while waiting:
            durable, result = waiting.pop(0)
            await durable
            progress = self.progress
            progress.count(result.completion, cached=result.cached > 0)
            if progress.finished:
                each_s = (time.monotonic() - self._started) / progress.finished
                progress.seconds_left = each_s * (progress.total - progress.done)
            self.watch(progress)
            if self.session.job.rule is not None:
                self.session.job.rule.take(result)
            if self.session.job.follower is not None:
                self.session.job.follower.take(result)

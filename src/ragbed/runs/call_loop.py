"""Call a model once for every pending case, and store each result before the next call."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import msgspec

from ragbed.models.base import ENDED_EARLY, AnsweringAfresh, Model, Parking, Posting, PrefixReusing, WorkerLost
from ragbed.models.failures import REJECTED, Failure, failed
from ragbed.runs.budget import Budget
from ragbed.runs.cache import Cache, key_of, keys_of
from ragbed.runs.call_log import CallLog
from ragbed.runs.circuit_breaker import CHANGE_OPTION, CircuitBreaker
from ragbed.runs.decided import DecidedInterval
from ragbed.runs.episodes import EpisodeFactory, run_episode
from ragbed.runs.multi_call import Called, make_calls, usage_made, usages_made
from ragbed.runs.store import (
    ANSWERED,
    DISCARD,
    FORGET_TURNS,
    INTEND,
    LOSE,
    NOTE,
    RECORD,
    REPLACED,
    CallRequest,
    RunStore,
    StoredResult,
    StoredTurn,
)
from ragbed.runs.time_left import TimeLeft
from ragbed.runs.writer import Writer
from ragbed.schema import Case, Completion
from ragbed.testbeds.prompts.strategies import Flow, flow_of
from ragbed.testbeds.search.episode import Episode
from ragbed.text import storable

_LOOK_AHEAD = 32  # number of calls whose cached responses are looked up in one query
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
        if not cached:
            usage = usage_made(completion) or {}
            self.tokens_in += usage.get("in", 0)
            self.tokens_out += usage.get("out", 0)


class _NotAllowed(Exception):
    """Raised when the budget does not allow another call."""


class _PreparedRequest(msgspec.Struct, frozen=True):
    """A request's body, and its cache keys for the original and the raised token limits."""

    body: bytes
    keys: list[str]


class _PendingResult(msgspec.Struct, frozen=True):
    durable: asyncio.Future[None]
    result: StoredResult
    seal: int
    size: int


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
    """The state shared by all models in a run; `kept` is called with each stored result and its checksum."""

    store: RunStore
    writer: Writer
    number: int
    cache: Cache | None
    budget: Budget | None
    repeats: int
    kept: Callable[[StoredResult, int], None] | None = None
    rule: StoppingRule | None = None
    episodes: EpisodeFactory | None = None
    tell: Callable[[str], None] = logging.getLogger("ragbed").warning
    parameter_fix: str = CHANGE_OPTION


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
    _parking: Parking | None = None

    def __post_init__(self) -> None:
        # Cache keys also contain the base URLs and the sampling parameters that the user has set.
        self.cache_identity = " ".join(filter(None, [self.identity, getattr(self.model, "cache_scope", "")]))
        self._breaker = CircuitBreaker(
            self.model.name, self.model.advice, self.session.parameter_fix, has_responses=self.progress.done > 0
        )
        self._cache = None if isinstance(self.model, AnsweringAfresh) else self.session.cache
        self._posting = self.model if isinstance(self.model, Posting) else None
        self._time_left = TimeLeft(0, 0)
        self._prepared: dict[tuple[int, int], _PreparedRequest] = {}  # the next requests, by case number and repeat
        self._raised: tuple[int, ...] = getattr(self.model, "raised_limits", ())
        self._turns = {} if self.session.episodes is None else self.session.store.turns(self.number)
        self._billed = dict(self._billed_failures())
        self._lacks_usage = False  # whether the user has been warned of a response without token usage
        self._call_log = CallLog(self.session.store, self.session.writer, self.model, self.session.tell)

    async def run(self) -> None:
        """Make pending calls until every case has an outcome, the stopping rule is met or the budget is spent.

        Calls in flight are always completed, because they are billed.
        """
        store, repeats, rule = self.session.store, self.session.repeats, self.session.rule
        by_prompt = isinstance(self.model, PrefixReusing) and rule is None
        pending = store.pending(self.number, repeats, by_prompt=by_prompt, by_question=rule is not None)
        if store.wanted is not None:
            pending = self._leave_out(pending, store.wanted)
        if rule is not None:
            rule.begin(store, self.number)
        if self._posting is not None and self._cache is not None and self.session.episodes is None:
            pending = self._look_ahead(pending, self._cache)
        if rule is not None:
            pending = itertools.takewhile(lambda _: not rule.is_over(self.model.name), pending)
        self._time_left = TimeLeft(*store.work(self.number, repeats, by_prompt=by_prompt))
        async with asyncio.TaskGroup() as group:
            if isinstance(self.model, Parking):
                self._parking = self.model
                self.model.make_room = lambda: self._start_workers(group, pending)
            self._start_workers(group, pending)
        self._tell_fix()

    def _tell_fix(self) -> None:
        """Tell the user what to do if every call has failed."""
        if fix := self._breaker.fix:
            self.session.tell(f"{self.model.name}: {fix}")

    def _leave_out(self, pending: Iterator[CallRequest], wanted: Container[str]) -> Iterator[CallRequest]:
        """Yield the calls for wanted cases; an earlier command with another selection may have planned further ones."""
        for request in pending:
            if request.case.case in wanted:
                yield request
            else:
                self.progress.total -= 1
                self._time_left.skip(request.size)

    def _look_ahead(self, pending: Iterator[CallRequest], cache: Cache) -> Iterator[CallRequest]:
        """Look up several cached responses in one query, because a query for each call takes three times as long."""
        while requests := list(itertools.islice(pending, _LOOK_AHEAD)):
            for request in requests:
                if flow_of(request.case) is None:
                    with suppress(Exception):  # `_call` will raise the error when it makes this call
                        self._prepared[request.number, request.repeat] = self._prepare(request.case, request.repeat)
            cache.prefetch([key for prepared in self._prepared.values() for key in prepared.keys])
            yield from requests

    def _billed_failures(self) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
        """Yield a row that keeps the usage of each failed call once the result of a retry replaces the failure."""
        store = self.session.store
        for call, session, completion in store.billed_failures(self.number):
            usages = usages_made(completion)
            # A retry of an episode repeats only the last call. If it starts over, the other calls are stored as lost.
            was_discarded = store.error_of(call.model, call.number, call.repeat) is None
            if was_discarded or (call.number, call.repeat) in self._turns:
                usages = usages[-1:]
            if usages := [usage for usage in usages if usage]:
                key = f"{REPLACED}{call.model}.{call.number}.{call.repeat}.{session}"
                yield (call.number, call.repeat), (key, msgspec.json.encode(usages).decode())

    def _start_workers(self, group: asyncio.TaskGroup, pending: Iterator[CallRequest]) -> None:
        while self._workers < self._concurrency():
            self._workers += 1
            work = self._work(pending)
            try:
                group.create_task(work)
            except RuntimeError:  # the task group is shutting down; do not schedule more work
                work.close()
                return

    def _concurrency(self) -> int:
        """Return the maximum number of concurrent cases, including cases paused at the server's request."""
        return self.model.concurrency + (0 if self._parking is None else self._parking.parked)

    async def _work(self, pending: Iterator[CallRequest]) -> None:
        """Make calls one by one. Rows are written in order, so a result is stored before the next call is recorded."""
        last: _PendingResult | None = None
        for request in pending:
            several = flow_of(request.case) or await self._start_episode(request.case)
            if several is not None:
                await self._settle(last)
                last = None
            number = self._breaker.start()
            try:
                if several is None:
                    called = await self._call(request, request.case, last)
                else:
                    called = await self._call_several(request, several)
            except _NotAllowed:
                break
            result = self._store(request, called)
            if called.cached:
                self._breaker.has_responses = True
                await self._settle(result)
                continue
            last = result
            self._breaker.learn(called.completion, number)
            if self._workers > self._concurrency():
                break
        self._workers -= 1
        await self._settle(last)

    async def _start_episode(self, case: Case) -> Episode | None:
        return None if self.session.episodes is None else await self.session.episodes.start(case, self.model)

    async def _call_several(self, request: CallRequest, several: Flow | Episode) -> Called:
        """Make all calls for a case that uses a prompting strategy or runs as an episode."""
        if not isinstance(several, Episode):
            return await make_calls(several, request.case, self._calls_of(request))
        stored = self._turns.pop((request.number, request.repeat), [])
        if self._was_rejected(request):
            stored = await self._discard_turns(request, stored)
        earlier = [Called(turn.completion, turn.request, turn.cached) for turn in stored]
        return await run_episode(several, lambda case: self._call(request, case), earlier, partial(self._keep, request))

    def _was_rejected(self, request: CallRequest) -> bool:
        """Return whether the server rejected an episode's last request, in which case resending it is pointless."""
        failed = self.session.store.error_of(request.model, request.number, request.repeat)
        kind = "" if failed is None else (failed.error or "").partition(":")[0]
        return kind == "too-long" or kind in REJECTED

    async def _discard_turns(self, request: CallRequest, turns: Sequence[StoredTurn]) -> list[StoredTurn]:
        """Delete the turns of an episode that is restarted. Billed turns are recorded as lost calls.

        The discard is recorded too. Otherwise, the turns of an interrupted retry would be discarded as well, because
        the rejected result is stored until there is a new one.
        """
        for turn in turns:
            if not turn.cached:
                self.session.writer.put(LOSE, self._intent(request))
        self.session.writer.put(FORGET_TURNS, request.turn_range())
        marker = (request.discarded_key(), request.model, request.number, request.repeat)
        await self.session.writer.put(DISCARD, marker)
        return []

    async def _keep(self, request: CallRequest, turn: int, called: Called) -> None:
        """Store an episode's turn, so that its request is not sent again if the run is interrupted."""
        stored = StoredTurn(called.completion, called.key, called.cached)
        try:
            line = msgspec.json.encode(stored)
        except UnicodeEncodeError:
            line = msgspec.json.encode(StoredTurn(_without_surrogates(called.completion), called.key, called.cached))
        if not called.cached:  # for a cached response, no intent was recorded
            self.session.writer.put(ANSWERED, (request.model, request.number, request.repeat))
        await self.session.writer.put(NOTE, (request.turn_key(turn), line.decode()))

    def _calls_of(self, request: CallRequest) -> Callable[[Case], Awaitable[Called]]:
        """Return a function that makes a case's calls; after the first billed call, the budget no longer blocks them.

        Otherwise, a spent budget would stop cases halfway, and their cost would not be recorded.
        """
        is_started = False

        async def call(case: Case) -> Called:
            nonlocal is_started
            called = await self._call(request, case, is_started=is_started)
            is_started = is_started or not called.cached
            return called

        return call

    async def _complete(self, request: CallRequest, case: Case, body: bytes) -> Completion:
        """Repeat the call until it has an outcome. A call whose worker died is recorded, as it may have been billed."""
        for lost in range(_MAX_WORKERS_LOST):
            try:
                if self._posting is not None:
                    completion = await self._posting.complete_request(body, case)
                else:
                    completion = await self.model.complete(case, request.repeat)
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                # The task group would treat this worker as finished and leave its other cases pending.
                return failed(Failure("exception", "CancelledError, although the run was not cancelled"), 1, Counter())
            except WorkerLost as error:
                last = error
                await self.session.writer.put(LOSE, self._intent(request))
            else:
                # Some model objects report truncation only in the finish reason.
                if completion.outcome == "ok" and completion.finish in ENDED_EARLY:
                    completion = msgspec.structs.replace(completion, outcome="truncated")
                return msgspec.structs.replace(completion, attempts=completion.attempts + lost) if lost else completion
        message = f"{_MAX_WORKERS_LOST} workers exited while running this case; the last error: {last}"
        return failed(Failure("server", message), _MAX_WORKERS_LOST, Counter())

    def _intent(self, request: CallRequest) -> tuple[object, ...]:
        return (request.model, request.number, request.repeat, self.session.number, time.time())

    async def _call(
        self, request: CallRequest, case: Case, last: _PendingResult | None = None, *, is_started: bool = False
    ) -> Called:
        """Return the cached response, or make a call after recording on disk that it is about to be made.

        Raises:
            _NotAllowed: The budget is spent.
        """
        prepared = self._prepared.pop((request.number, request.repeat), None) or self._prepare(case, request.repeat)
        body, (found, key) = prepared.body, self._find_cached(prepared.keys)
        if found is not None:
            self._call_log.add(found, cached=True)
            return Called(found, key, cached=True)
        if self.session.budget is not None and not is_started and not self.session.budget.allows():
            raise _NotAllowed
        await self.session.writer.put(INTEND, self._intent(request))
        await self._settle(last)
        completion = await self._complete(request, case, body)
        if completion.max_tokens is not None:
            key = key_of(self.model.name, self.cache_identity, body, request.repeat, completion.max_tokens)
        self._call_log.add(completion)
        return Called(self._account(key, completion), key)

    def _prepare(self, case: Case, repeat: int) -> _PreparedRequest:
        body, limits = self.model.request(case), () if self._cache is None else self._raised
        return _PreparedRequest(body, keys_of(self.model.name, self.cache_identity, body, repeat, limits))

    def _find_cached(self, keys: Sequence[str]) -> tuple[Completion | None, str]:
        """Return the cached response to a request with its original or a raised token limit, and the cache key."""
        found = None if self._cache is None else self._cache.find(*keys)
        return (None, keys[0]) if found is None else found

    def _account(self, key: str, completion: Completion, unpaid: Completion | None = None) -> Completion:
        """Cache a response, charge its cost to the budget, and return the response in a form that can be stored.

        Args:
            key: The cache key of the response.
            completion: The response.
            unpaid: The part of the response that has not been charged to the budget yet; None for all of it.
        """
        if self._cache is not None:
            try:
                self._cache.keep(key, self.model.name, completion)
            except UnicodeEncodeError:
                completion = _without_surrogates(completion)
                self._cache.keep(key, self.model.name, completion)
        if self.session.budget is not None:
            paid = unpaid or completion
            self.session.budget.pay(self.model.name, paid)
            if paid.outcome in ("ok", "truncated") and not paid.usage and not self._lacks_usage:
                self._lacks_usage = True
                self.session.tell(
                    f"Warning: a response from {self.model.name} does not report its token usage. Its cost is unknown "
                    "and counts as 0 in the budget; set a spending limit with the provider."
                )
        return completion

    def _store(self, request: CallRequest, called: Called) -> _PendingResult:
        store, number, completion = self.session.store, self.session.number, called.completion
        try:
            row = store.row(request, number, called.key, completion, called.cached)
        except UnicodeEncodeError:
            completion = _without_surrogates(completion)
            row = store.row(request, number, called.key, completion, called.cached)
        result = StoredResult(request.case, self.model.name, request.repeat, completion, called.key, called.cached)
        if (billed := self._billed.pop((request.number, request.repeat), None)) is not None:
            self.session.writer.put(NOTE, billed)
        if self.session.episodes is not None and completion.outcome != "error":  # retries after errors need the turns
            self.session.writer.put(FORGET_TURNS, request.turn_range())
        return _PendingResult(self.session.writer.put(RECORD, row), result, row.seal, request.size)

    async def _settle(self, last: _PendingResult | None) -> None:
        if last is None:
            return
        await last.durable
        completion, cached = last.result.completion, last.result.cached
        if cached:
            self._time_left.skip(last.size)
        else:
            self._time_left.add(last.size, completion.latency_s)
        self.progress.count(completion, cached=cached)
        self.progress.seconds_left = self._time_left.seconds(self._workers)
        self.watch(self.progress)
        if self.session.rule is not None:
            self.session.rule.take(last.result)
        if self.session.kept is not None:
            self.session.kept(last.result, last.seal)


def _without_surrogates(completion: Completion) -> Completion:
    """Replace surrogates, which cannot be encoded as UTF-8, with the replacement character."""
    return msgspec.convert(_clean(msgspec.to_builtins(completion)), Completion)


def _clean(value: Any) -> Any:  # noqa: ANN401 - any part of a record
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {name: _clean(part) for name, part in value.items()}
    return [_clean(part) for part in value] if isinstance(value, list | tuple) else value

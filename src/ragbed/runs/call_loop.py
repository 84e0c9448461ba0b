"""The loop: every pending case of a model is asked once, and what came of it is on the disk before the next."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from ragbed.models.base import AnsweringAfresh, Model, Parking, Posting, PrefixReusing, WorkerLost
from ragbed.models.failures import Failure, failed
from ragbed.runs.budget import Budget
from ragbed.runs.cache import Cache, key_of
from ragbed.runs.circuit_breaker import CircuitBreaker
from ragbed.runs.multi_call import Called, ask_through, usage_made
from ragbed.runs.store import INTEND, LOSE, RECORD, CallRequest, RunStore, StoredResult
from ragbed.runs.time_left import TimeLeft
from ragbed.runs.writer import Writer
from ragbed.schema import Case, Completion
from ragbed.testbeds.prompts.strategies import flow_of
from ragbed.text import storable

_WORKERS = 10
"""So many workers of a cluster may end over one case; then it is the case that ends them."""


@dataclass
class CallProgress:
    """How far the asking of a model is."""

    total: int
    done: int = 0
    cached: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    finished: int = 0
    """Cases that the model has finished in this session; cached responses do not count."""
    seconds_left: float | None = None
    """Estimated; None before the first case is finished."""

    def count(self, completion: Completion, *, cached: bool) -> None:
        """Adds one result."""
        self.done += 1
        self.finished += not cached
        self.cached += cached
        self.outcomes[completion.outcome] = self.outcomes.get(completion.outcome, 0) + 1
        if not cached:
            usage = usage_made(completion) or {}
            self.tokens_in += usage.get("in", 0)
            self.tokens_out += usage.get("out", 0)


class _NotAllowed(Exception):
    """The budget allows no further call."""


class _HandedIn(NamedTuple):
    """A result on its way to the disk."""

    durable: asyncio.Future[None]
    result: StoredResult
    seal: int
    size: int


@dataclass(frozen=True)
class Session:
    """What the models of a run share while they are asked."""

    store: RunStore
    writer: Writer
    number: int
    cache: Cache | None
    budget: Budget | None
    repeats: int
    kept: Callable[[StoredResult, int], None] | None = None
    """Told of every result that is on the disk, with its seal."""


@dataclass
class CallLoop:
    """One model being asked.

    Attributes:
        number: Of the model, in the store.
        watch: Told after every result.
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
        self._hope = CircuitBreaker(self.model.name, self.model.advice)
        self._cache = None if isinstance(self.model, AnsweringAfresh) else self.session.cache
        self._posting = self.model if isinstance(self.model, Posting) else None
        self._time_left = TimeLeft(0, 0)

    async def run(self) -> None:
        """Asks all that is pending; returns when every case has its outcome, or the budget allows no more.

        Calls in flight are waited for then: they are paid.
        """
        by_prompt = isinstance(self.model, PrefixReusing)
        store, repeats = self.session.store, self.session.repeats
        pending = store.pending(self.number, repeats, by_prompt=by_prompt)
        self._time_left = TimeLeft(*store.work(self.number, repeats, by_prompt=by_prompt))
        async with asyncio.TaskGroup() as group:
            if isinstance(self.model, Parking):
                self._parking = self.model
                self.model.make_room = lambda: self._fill(group, pending)
            self._fill(group, pending)

    def _fill(self, group: asyncio.TaskGroup, pending: Iterator[CallRequest]) -> None:
        """As many workers as the model takes cases; those it has set aside do not count."""
        while self._workers < self._wanted():
            self._workers += 1
            work = self._work(pending)
            try:
                group.create_task(work)
            except RuntimeError:  # the group is ending, and nothing more is to be asked
                work.close()
                return

    def _wanted(self) -> int:
        return self.model.concurrency + (0 if self._parking is None else self._parking.parked)

    async def _work(self, pending: Iterator[CallRequest]) -> None:
        """One call after the other; rows are written in order: when an intent is durable, so is the result before."""
        last: _HandedIn | None = None
        for ask in pending:
            flow = flow_of(ask.case)
            if flow is not None:
                await self._settle(last)
                last = None
            try:
                if flow is None:
                    called = await self._call(ask, ask.case, last)
                else:
                    called = await ask_through(flow, ask.case, self._calls_of(ask))
            except _NotAllowed:
                break
            handed_in = self._hand_in(ask, called)
            if called.cached:
                await self._settle(handed_in)
                continue
            last = handed_in
            self._hope.learn(called.completion)
            if self._workers > self._wanted():
                break
        self._workers -= 1
        await self._settle(last)

    def _calls_of(self, ask: CallRequest) -> Callable[[Case], Awaitable[Called]]:
        """The calls of a case that takes several: once one of them was paid, the others are let through too.

        Else a spent budget would end cases half-way, and what was paid for them would show nowhere.
        """
        is_begun = False

        async def call(case: Case) -> Called:
            nonlocal is_begun
            called = await self._call(ask, case, is_begun=is_begun)
            is_begun = is_begun or not called.cached
            return called

        return call

    async def _complete(self, ask: CallRequest, case: Case, request: bytes) -> Completion:
        """Asks until there is an outcome; a call whose worker ended goes on record, since it may have been paid."""
        for lost in range(_WORKERS):
            try:
                if self._posting is not None:
                    completion = await self._posting.complete_request(request, case)
                else:
                    completion = await self.model.complete(case, ask.repeat)
            except WorkerLost as error:
                last = error
                row = (ask.model, ask.number, ask.repeat, self.session.number, time.time())
                await self.session.writer.put(LOSE, row)
            else:
                return msgspec.structs.replace(completion, attempts=completion.attempts + lost) if lost else completion
        return failed(Failure("server", f"{_WORKERS} workers ended over it; the last: {last}"), _WORKERS, Counter())

    async def _call(
        self, ask: CallRequest, case: Case, last: _HandedIn | None = None, *, is_begun: bool = False
    ) -> Called:
        """One call, its intent on the disk before it; or what it brought another time.

        Raises:
            _NotAllowed: The budget is spent.
        """
        request = self.model.request(case)
        key = key_of(self.model.name, self.identity, request, ask.repeat)
        found = self._cache.find(key) if self._cache is not None else None
        if found is not None:
            return Called(found, key, cached=True)
        if self.session.budget is not None and not is_begun and not self.session.budget.allows():
            raise _NotAllowed
        intent = (ask.model, ask.number, ask.repeat, self.session.number, time.time())
        await self.session.writer.put(INTEND, intent)
        await self._settle(last)
        completion = await self._complete(ask, case, request)
        return Called(self._account(key, completion), key)

    def _account(self, key: str, completion: Completion) -> Completion:
        """Keeps and pays a reply, as it can be stored."""
        if self._cache is not None:
            try:
                self._cache.keep(key, self.model.name, completion)
            except UnicodeEncodeError:
                completion = _without_surrogates(completion)
                self._cache.keep(key, self.model.name, completion)
        if self.session.budget is not None:
            self.session.budget.pay(self.model.name, completion)
        return completion

    def _hand_in(self, ask: CallRequest, called: Called) -> _HandedIn:
        store, number, completion = self.session.store, self.session.number, called.completion
        try:
            row = store.row(ask, number, called.key, completion, called.cached)
        except UnicodeEncodeError:
            completion = _without_surrogates(completion)
            row = store.row(ask, number, called.key, completion, called.cached)
        result = StoredResult(ask.case, self.model.name, ask.repeat, completion, called.key, called.cached)
        return _HandedIn(self.session.writer.put(RECORD, row), result, row.seal, ask.size)

    async def _settle(self, last: _HandedIn | None) -> None:
        """Counts a result, once it is durable."""
        if last is not None:
            await last.durable
            self._count(last)
            self.watch(self.progress)
            if self.session.kept is not None:
                self.session.kept(last.result, last.seal)

    def _count(self, last: _HandedIn) -> None:
        """Update the progress, with the time that the rest will take."""
        completion, cached = last.result.completion, last.result.cached
        if cached:
            self._time_left.skip(last.size)
        else:
            self._time_left.add(last.size, completion.latency_s)
        self.progress.count(completion, cached=cached)
        self.progress.seconds_left = self._time_left.seconds(self._workers)


def _without_surrogates(completion: Completion) -> Completion:
    """Half characters, which no file can hold, shown as the sign for what cannot be shown."""
    return msgspec.convert(_clean(msgspec.to_builtins(completion)), Completion)


def _clean(value: Any) -> Any:  # noqa: ANN401 - whatever a record is made of
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {name: _clean(part) for name, part in value.items()}
    return [_clean(part) for part in value] if isinstance(value, list | tuple) else value

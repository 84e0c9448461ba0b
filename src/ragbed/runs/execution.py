"""A whole run: plan once, then ask every model until each case has an outcome."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol

from ragbed.errors import RagbedError, Stopped, UsageError
from ragbed.io.jsonl import sync_folder
from ragbed.models.base import Model
from ragbed.runs.budget import Budget
from ragbed.runs.cache import Cache
from ragbed.runs.call_loop import CallLoop, CallProgress, Session
from ragbed.runs.circuit_breaker import CircuitOpen
from ragbed.runs.commit_counter import CommitCounter, lost, noted
from ragbed.runs.database import connect, naming
from ragbed.runs.engines.base import Engine
from ragbed.runs.lock import Held, hold
from ragbed.runs.store import RunStore, StoredResult, open_store
from ragbed.runs.writer import PlaceCheck, RunGone, WriteFailed, Writer
from ragbed.schema import Case
from ragbed.testbeds.settings import show_setting

_COPIES = tuple(f"-{number}" for number in range(2, 1_000))
"""Endings of the folder that a deleted run is saved to, where the first name is taken."""
_REST_S = 0.02
_CLOSE_S = 2.0
"""Connections get so long to close: an interrupted run ends within five seconds whatever a server does."""


class Follower(Protocol):
    """Makes something of results while others are waited for."""

    def begin(self, store: RunStore) -> None:
        """Asking begins; the store holds what earlier sessions brought."""
        ...

    def take(self, result: StoredResult, seal: int) -> None:
        """A result is on the disk, under this seal."""
        ...

    def go_on(self) -> bool:
        """Does a millisecond's work; whether there was any to do."""
        ...


@dataclass(frozen=True)
class Job:
    """What is to be run."""

    folder: Path
    settings: dict[str, str]
    """All that decides what is asked and how, by option; a run is resumed only with the same."""
    cases: Callable[[], Iterable[Case]]
    """Lays the cases out; called only for a run that was not planned yet, or one that grows."""
    models: Sequence[Model]
    repeats: int = 1
    names: Mapping[str, str] = field(default_factory=dict)
    """Names under which models are shown, by model string; a model without one has a derived name."""
    grows: bool = False
    """Whether cases that came since it was planned are added: those of a judge, whose run may have gone on."""
    cache: Path | None = None
    budget: Budget | None = None
    follower: Follower | None = None
    tell: Callable[[str], None] = field(default=logging.getLogger("ragbed").warning)
    """Told what the user should know and the run survives."""
    engine: Engine | None = None
    """Where the models were opened; `close` ends it."""

    def close(self) -> None:
        """End the engine."""
        if self.engine is not None:
            self.engine.close()


def run(job: Job, watch: Callable[[str, CallProgress], None], ending: ShutdownHandler | None = None) -> None:
    """Plans a new run or takes up an old one, and asks what is pending.

    Args:
        job: What is to be run.
        watch: Told how far each model is.
        ending: By which another thread can end it.

    Raises:
        UsageError: The folder holds a run with other settings, or of a model that has changed.
        RagbedError: The store cannot be written, or a model cannot be asked at all.
        KeyboardInterrupt: The user ended it; every reply that came is kept.
        Stopped: The system ended it; likewise.
    """
    ending = ending or ShutdownHandler()
    with _sigterm_raises(), _opened(job) as (store, held):
        try:
            asyncio.run(_ask_all(store, job, watch, ending, held))
        except asyncio.CancelledError:
            raise (KeyboardInterrupt if ending.by == signal.SIGINT else Stopped("told to end.")) from None


async def arun(job: Job, watch: Callable[[str, CallProgress], None]) -> None:
    """Do the same in the running event loop; cancelling the task ends the run, and finished cases are kept."""
    with _opened(job) as (store, held):
        await _ask_all(store, job, watch, ShutdownHandler(signals=False), held)


@contextmanager
def _opened(job: Job) -> Iterator[tuple[RunStore, Held]]:
    """Open a new or an earlier run and plan its cases."""
    acknowledged = noted(job.folder)
    with hold(job.folder) as held, open_store(job.folder, create=True) as store:
        if missing := lost(acknowledged, store.connection):
            job.tell(
                f"{store.path} has lost the last {missing} of {acknowledged} commits: its log was damaged, or an older "
                "copy was put back. What they held is asked again."
            )
        _plan(store, job)
        if job.names:
            store.name_models(job.names)
        if job.budget is not None:
            _pay_so_far(store, job.budget, job.tell)
        try:
            yield store, held
        except RunGone as gone:
            raise _save_beside(store, gone) from gone


_SAME_SETTING = {("docs", "5", "default")}
"""A setting as earlier versions stored it, and as it is stored now: a run of theirs can be resumed."""


def _plan(store: RunStore, job: Job) -> None:
    if not store.is_planned():
        store.plan(job.settings, job.cases())
        return
    begun_with = store.settings()
    for name in sorted(begun_with.keys() | job.settings.keys()):
        old, new = begun_with.get(name), job.settings.get(name)
        if old != new and (name, old, new) not in _SAME_SETTING:
            first, now = show_setting(name, _brief(old)), show_setting(name, _brief(new))
            raise UsageError(
                f"{job.folder} was created with {first}, but this command uses {now}. Use the same settings, or choose "
                "another --out."
            )
    if job.grows:
        store.add_missing(job.cases())


def _brief(setting: str | None) -> str | None:
    """Return a setting, with a checksum shortened to its first digits."""
    return f"{setting[:12]}…" if setting and re.fullmatch("[0-9a-f]{64}", setting) else setting


def _pay_so_far(store: RunStore, budget: Budget, tell: Callable[[str], None]) -> None:
    """Earlier sessions count too: a budget is the run's."""
    paid = {
        result.model: budget.pay(result.model, result.completion) for result in store.results() if not result.cached
    }
    for model, calls in Counter(model for model, _, _ in [*store.orphans(), *store.open_calls()]).items():
        counted = "as an average one" if budget.suspect(model, calls) else "as nothing: none came back to go by"
        tell(
            f"calls of earlier sessions to {model} that may have been paid and brought nothing: {calls:,}; in the "
            f"budget each counts {counted}."
        )
    if unpriced := sorted(model for model, is_priced in paid.items() if not is_priced):
        tell(f"no price is known for {', '.join(unpriced)}: earlier replies count as nothing in the budget.")


def _save_beside(store: RunStore, gone: RunGone) -> RagbedError:
    """Write what the open file holds into a new folder beside the lost one, from where it can be resumed."""
    lost_folder = store.path.parent.resolve()
    places = (lost_folder.with_name(f"{lost_folder.name}.recovered{ending}") for ending in ("", *_COPIES))
    folder = next(place for place in places if not place.exists())
    try:
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / store.path.name)) as copy:
            store.connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        sync_folder(folder)
        sync_folder(folder.parent)
    except (OSError, sqlite3.Error, RagbedError) as error:
        return RagbedError(f"{gone} The results could not be saved to {folder}: {error}.")
    return RagbedError(
        f"{gone} No more requests are sent. {store.noted_results():,} results were saved to {folder}; to resume, rerun "
        f"the command with --out {folder}."
    )


async def _ask_all(
    store: RunStore, job: Job, watch: Callable[[str, CallProgress], None], ending: ShutdownHandler, held: Held
) -> None:
    ending.listen()
    try:
        models = [(model.name, identity) for model, identity in await _identify(job.models)]
        number, numbers = store.begin_session(models)
        with _second_connection(store) as connection:
            check = PlaceCheck(store.path, held)
            writer = Writer(store.path, connection, CommitCounter(job.folder, connection), check)
            cache = None if job.cache is None else Cache(job.cache, job.tell)
            keep = None if job.follower is None else job.follower.take
            session = Session(store, writer, number, cache, job.budget, job.repeats, keep)
            given_up: list[CircuitOpen] = []
            beside = asyncio.create_task(_follow(job.follower, store))
            try:
                await _together(
                    _ask_one(_begin(session, model, numbers[place], models[place][1], watch), job, given_up)
                    for place, model in enumerate(job.models)
                )
            finally:
                beside.cancel()
                await _close(writer, cache)
            if given_up:
                raise given_up[0]
            if job.budget is not None:
                job.budget.check()
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await asyncio.gather(*(model.close() for model in job.models), return_exceptions=True)


async def _follow(follower: Follower | None, store: RunStore) -> None:
    """Works in the gaps: whatever came from servers goes first, at every turn of the loop."""
    if follower is None:
        return
    follower.begin(store)
    while True:
        await asyncio.sleep(0 if follower.go_on() else _REST_S)


async def _identify(models: Sequence[Model]) -> list[tuple[Model, str]]:
    """All models at once, before anything is asked: one that was changed stops the run before it costs."""
    return list(zip(models, await asyncio.gather(*(model.identity() for model in models)), strict=True))


def _begin(
    session: Session, model: Model, number: int, identity: str, watch: Callable[[str, CallProgress], None]
) -> CallLoop:
    store = session.store
    progress = CallProgress(total=store.size(session.repeats), done=store.done(number))
    return CallLoop(session, model, number, identity, progress, watch=lambda told: watch(model.name, told))


async def _ask_one(asking: CallLoop, job: Job, given_up: list[CircuitOpen]) -> None:
    """Asks one model; if it is given up, the others are asked all the same."""
    try:
        await asking.run()
    except* CircuitOpen as several:
        given_up.append(next(error for error in _leaves(several) if isinstance(error, CircuitOpen)))
        if len(job.models) > 1:
            job.tell(f"{given_up[-1]} The other models are asked on.")


async def _together(parts: Iterable[Coroutine[None, None, None]]) -> None:
    """Runs parts at once; the first that fails ends the others, and its error is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
    except BaseExceptionGroup as several:
        if several.subgroup(MemoryError) is not None:
            raise MemoryError from None
        ours, defects = several.split(RagbedError)
        if ours is None or defects is not None:
            raise
        errors = list(_leaves(ours))
        # A disk that fails makes all workers fail; what the disk said is the reason.
        raise next((error for error in errors if isinstance(error, WriteFailed)), errors[0]) from None


def _leaves(several: BaseExceptionGroup[RagbedError]) -> Iterator[RagbedError]:
    for error in several.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


async def _close(writer: Writer, cache: Cache | None) -> None:
    try:
        await writer.close()
    finally:
        if cache is not None:
            await cache.close()


@contextmanager
def _second_connection(store: RunStore) -> Iterator[sqlite3.Connection]:
    """For the writer: what is pending is read beside it, without seeing half a commit."""
    with naming(store.path, "opened"):
        connection = connect(store.path)
    try:
        yield connection
    finally:
        connection.close()


class ShutdownHandler:
    """Ends the asking when a signal comes: rows that were handed in are still written, calls in flight are left."""

    def __init__(self, *, signals: bool = True) -> None:
        self.by: int | None = None
        self._signals = signals
        self._further = 0
        self._asking: asyncio.Task[None] | None = None
        self._is_over = False

    def listen(self) -> None:
        """Begins to listen, for as long as the loop runs; signals come to the main thread only."""
        self._asking = this = asyncio.current_task()
        if this is not None and self._is_over:
            this.cancel()
        if this is not None and self._signals and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self._end, this, number)

    def end(self) -> None:
        """Ends it from another thread, before it begins or while it goes on, as a signal does; once is enough."""
        if self._is_over:
            return
        self._is_over = True
        if self._asking is not None:
            with suppress(RuntimeError):  # the loop is closed already
                self._asking.get_loop().call_soon_threadsafe(self._cancel, self._asking)

    def _cancel(self, asking: asyncio.Task[None]) -> None:
        if self.by is None:  # a second time would cut off the last rows
            asking.cancel()

    def _end(self, asking: asyncio.Task[None], number: int) -> None:
        if self.by is None:
            self.by = number
            if not self._is_over:
                asking.cancel()
            return
        # A second one comes from impatience and finds us at the last commit; a third means it.
        self._further += 1
        if self._further > 1:
            os._exit(128 + number)


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Planning is undone in good order when the system ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, __: FrameType | None) -> None:
        raise Stopped("told to end.")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

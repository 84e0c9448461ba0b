"""Execute a run: plan it once, then call every model until each case has an outcome."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Protocol

from msgspec import Struct

from ragbed.errors import RagbedError, Stopped, UsageError, option
from ragbed.models.base import Model
from ragbed.runs.batch_records import read_batches
from ragbed.runs.budget import Budget
from ragbed.runs.cache import Cache
from ragbed.runs.call_loop import CallLoop, CallProgress, Session, StoppingRule
from ragbed.runs.circuit_breaker import CircuitOpen
from ragbed.runs.database import connect, naming
from ragbed.runs.decided import keep_decided
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.lock import hold
from ragbed.runs.store import NOTE, RunStore, StoredResult, open_store
from ragbed.runs.turns import EpisodeFactory, starts_over
from ragbed.runs.writer import WriteFailed, Writer
from ragbed.schema import Case, Completion
from ragbed.testbeds.settings import show_setting

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_REST_S = 0.01  # pause in seconds before the follower starts, and whenever it has no work
_CLOSE_S = 2.0  # time limit in seconds for closing connections, so that an interrupted run exits within five seconds


class Follower(Protocol):
    """An object that processes results while the run waits for more responses."""

    def begin(self, store: RunStore) -> None:
        """Initialise the follower with the results of earlier sessions, which are already in the store."""

    def take(self, result: StoredResult) -> None:
        """Receive a stored result."""

    def load(self) -> None:
        """Load what the follower needs for its work. This runs in another thread, because it takes longer."""

    def go_on(self) -> bool:
        """Work for a few milliseconds, and return whether there was any work to do."""


class Job(Struct, frozen=True):
    """A run to execute.

    Attributes:
        settings: All settings that affect cases and calls; a run can be resumed only with the same settings.
        cases: A function that generates the cases; it is called only if the run is new or is being extended.
        names: Display names by model string.
        prices: The user's own prices, by model string, as `IN,OUT` in dollars per million tokens.
        grows: Whether to add cases that are not in the plan, e.g. if the run that a judge evaluates has new cases.
        reuses_all: Whether to cache the responses of models without an identity, too.
        tell: Called with messages for the user.
        parameter_fix: What the user should do if a server rejects a parameter.
    """

    folder: Path
    settings: dict[str, str]
    cases: Callable[[], Iterable[Case]]
    models: Sequence[Model]
    repeats: int = 1
    names: Mapping[str, str] = {}
    prices: Mapping[str, str] = {}
    grows: bool = False
    cache: Path | None = None
    reuses_all: bool = False
    budget: Budget | None = None
    follower: Follower | None = None
    batch: bool = False  # whether to call the models through the providers' batch APIs
    rule: StoppingRule | None = None  # decides when to stop early, before every case has a result
    episodes: EpisodeFactory | None = None  # starts the episodes of the `search` testbed
    tell: Callable[[str], None] = logging.getLogger("ragbed").warning
    parameter_fix: str = ""
    engine: LocalEngine | None = None  # the engine that opened the models; `close` closes it

    def close(self) -> None:
        """Close the engine."""
        if self.engine is not None:
            self.engine.close()


def run(job: Job, watch: Callable[[str, CallProgress], None], ending: ShutdownHandler | None = None) -> None:
    """Plan a new run or resume an existing one, and make all pending calls.

    Args:
        job: The run.
        watch: Called with the progress of each model.
        ending: A handler with which another thread can stop the run.

    Raises:
        UsageError: The folder has a run with different settings, or a model's identity has changed.
        RagbedError: The store cannot be written, or a model cannot be called.
        KeyboardInterrupt: The user interrupted the run; all responses are stored.
        Stopped: The system stopped the run; all responses are stored.
    """
    ending = ending or ShutdownHandler()
    with _sigterm_raises(), _opened(job) as store:
        try:
            asyncio.run(_run_models(store, job, watch, ending))
        except asyncio.CancelledError:
            raise (
                KeyboardInterrupt if ending.by == signal.SIGINT else Stopped("the run was stopped by a signal.")
            ) from None


@contextmanager
def _opened(job: Job) -> Iterator[RunStore]:
    """Open a new or existing run and plan its cases. A mistyped command, which makes no calls, leaves no new folder."""
    is_new, is_unused = not job.folder.exists(), False
    with hold(job.folder):  # remove the folder only while holding the lock: another process may have created it
        try:
            with open_store(job.folder, create=True) as store:
                try:
                    _plan(store, job)
                    with store.transaction() as connection:
                        connection.executemany(NOTE, [(f"name.{model}", name) for model, name in job.names.items()])
                        rows = [(f"price.{model}", amounts) for model, amounts in job.prices.items()]
                        connection.executemany(NOTE, rows)
                    if job.budget is not None:
                        pay_earlier_calls(store, job.budget, job.tell)
                    yield store
                except RagbedError:
                    is_unused = is_new and not store.sessions()
                    raise
        finally:
            if is_unused:
                shutil.rmtree(job.folder, ignore_errors=True)


def _plan(store: RunStore, job: Job) -> None:
    if not store.is_planned():
        store.plan(job.settings, job.cases())
        return
    stored = store.settings()
    # A preset comes first, because it determines other settings.
    for name in sorted(stored.keys() | job.settings.keys(), key=lambda name: (name != "preset", name)):
        old, new = stored.get(name), job.settings.get(name)
        if old != new:
            first, now = show_setting(name, _brief(old)), show_setting(name, _brief(new))
            raise UsageError(
                f"{job.folder} was created with {first}, but this command uses {now}. Use the same settings, or choose "
                f"another folder for {option('out')}."
            )
    if job.grows:
        store.add_missing(job.cases())


def _brief(setting: str | None) -> str | None:
    return f"{setting[:12]}…" if setting and re.fullmatch("[0-9a-f]{64}", setting) else setting


def pay_earlier_calls(store: RunStore, budget: Budget, tell: Callable[[str], None]) -> None:
    """Charge the calls of a run's earlier sessions to the budget, unless they have already been charged.

    Args:
        store: The run.
        budget: The budget.
        tell: Called with messages about calls whose cost is unknown.
    """
    if store.path in budget.counted:
        return
    paid = {
        result.model: budget.pay(result.model, result.completion) for result in store.results() if not result.cached
    }
    for model, usage in store.replaced_usage():
        is_priced = budget.pay(model, Completion(outcome="error", usage=usage))
        paid[model] = paid.get(model, True) and is_priced
    for number, (model, _) in store.models().items():
        failures = {(call.number, call.repeat): failed for call, _, failed in store.failures(number)}
        for call, turns in store.turns(number).items():
            failed = failures.get(call)
            # A failed result includes the turns before the failed call, but not those of a later attempt.
            included = 0 if failed is None or starts_over(failed) else max(0, len(failed.steps) - 1)
            priced = [budget.pay(model, turn.completion) for turn in turns[included:] if not turn.cached]
            paid[model] = paid.get(model, True) and all(priced)
    for model, calls in Counter(model for model, _, _ in [*store.orphans(), *store.open_calls()]).items():
        counted = "the average cost" if budget.suspect(model, calls) else "0, because no call has a known cost"
        tell(
            f"earlier calls to {model} that have no stored response but may have been billed: {calls:,}. In the "
            f"budget, each counts as {counted}."
        )
    if unpriced := sorted(model for model, is_priced in paid.items() if not is_priced):
        tell(f"the price of {', '.join(unpriced)} is unknown; its earlier responses count as 0 in the budget.")
    budget.counted.add(store.path)


async def _run_models(
    store: RunStore, job: Job, watch: Callable[[str, CallProgress], None], ending: ShutdownHandler
) -> None:
    ending.listen()
    opened: list[CircuitOpen] = []
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_close_models, job.models)
        # If a model has changed, the run stops here, before it incurs any cost.
        identities = await asyncio.gather(*(model.identity() for model in job.models))
        names = [model.name for model in job.models]
        session_number, numbers = store.begin_session(list(zip(names, identities, strict=True)))
        session = _open_session(store, job, session_number, stack)
        total = store.size(job.repeats)
        make = _loop_class(job, store)
        loops = [
            make(
                session,
                model,
                number,
                identity,
                CallProgress(total, len(store.done(number))),
                partial(watch, model.name),
            )
            for model, number, identity in zip(job.models, numbers, identities, strict=True)
        ]
        await _together(_run_model(loop, job, opened) for loop in loops)
    if job.rule is not None:
        with store.transaction():
            keep_decided(store, job.rule.decided())
    if opened:
        raise opened[0]
    if job.budget is not None:
        job.budget.check()


def _loop_class(job: Job, store: RunStore) -> type[CallLoop]:
    """Return the class of the models' call loops.

    Raises:
        UsageError: Batches from an earlier session are in progress, but single calls are requested.
    """
    if job.batch:
        from ragbed.runs.batch_loop import BatchLoop  # noqa: PLC0415 - it loads the client of providers

        return BatchLoop
    if cases := sum(batch.count for batch in read_batches(store)):
        raise UsageError(
            f"{job.folder} has batches in progress with {cases:,} cases. Sending these cases again would mean paying "
            f"for them twice. Set {option('batch')} to collect the results of the batches."
        )
    return CallLoop


def _open_session(store: RunStore, job: Job, number: int, stack: AsyncExitStack) -> Session:
    """Open the resources that the models share; the exit stack closes them."""
    # Writing uses a second connection, so that readers of pending cases never see a partial commit.
    with naming(store.path, "opened"):
        connection = stack.enter_context(closing(connect(store.path)))
    cache = None if job.cache is None else Cache(job.cache, job.tell)
    if cache is not None:
        stack.callback(cache.close)
    writer = Writer(store.path, connection)
    stack.push_async_callback(writer.close)
    if job.follower is not None:
        stack.callback(asyncio.create_task(_follow(job.follower, store)).cancel)
    return Session(job, store, writer, number, cache)


async def _close_models(models: Sequence[Model]) -> None:
    async def close(model: Model) -> None:  # The `close` method of a user's model may raise, or not be async.
        await model.close()

    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_S):
            await asyncio.gather(*map(close, models), return_exceptions=True)


async def _follow(follower: Follower, store: RunStore) -> None:
    """Let the follower work in short steps between other tasks, so that responses are handled without delay."""
    follower.begin(store)
    await asyncio.sleep(_REST_S)  # the first requests are sent before the follower starts to work
    await asyncio.to_thread(follower.load)
    while True:
        await asyncio.sleep(0 if follower.go_on() else _REST_S)


async def _run_model(loop: CallLoop, job: Job, opened: list[CircuitOpen]) -> None:
    """Make one model's calls. If that model stops responding, the other models continue."""
    try:
        await loop.run()
    except* CircuitOpen as several:
        opened.append(next(error for error in _leaves(several) if isinstance(error, CircuitOpen)))
        if len(job.models) > 1:
            job.tell(f"{opened[-1]} The other models continue.")


async def _together(parts: Iterable[Coroutine[None, None, None]]) -> None:
    """Run coroutines concurrently; the first error cancels the others and is raised without an exception group."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
        return
    except BaseExceptionGroup as several:
        if several.subgroup(MemoryError) is not None:
            raise MemoryError from None
        errors = list(_leaves(several))
    # An exception of another type comes from a defect or from the caller's progress callback. If the disk fails, all
    # workers fail, so raise the disk error, which is the cause.
    raise min(errors, key=lambda error: (isinstance(error, RagbedError), not isinstance(error, WriteFailed)))


def _leaves(several: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in several.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


class ShutdownHandler:
    """Stops a run on a signal: rows already submitted are written, but calls in flight are abandoned."""

    def __init__(self) -> None:
        self.by: int | None = None
        self._signals = 0
        self._task: asyncio.Task[None] | None = None
        self._is_over = self._is_cancelled = False

    def listen(self) -> None:
        """Handle signals while the event loop runs; only the main thread receives signals."""
        self._task = asyncio.current_task()
        if self._is_over:
            self._cancel()
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in _SIGNALS:
                try:
                    loop.add_signal_handler(number, self._handle, number)
                except NotImplementedError:  # not supported on Windows
                    signal.signal(number, lambda number, _: loop.call_soon_threadsafe(self._handle, number))

    def end(self) -> None:
        """Stop the run from another thread, before or during its execution, as a signal would."""
        self._is_over = True
        if self._task is not None:
            with suppress(RuntimeError):  # the loop is already closed
                self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None and not self._is_cancelled:  # a second cancellation would discard the final rows
            self._is_cancelled = True
            self._task.cancel()

    def _handle(self, number: int) -> None:
        # A second signal that arrives during the last commit is ignored; the third one kills the process.
        self._signals += 1
        if self._signals > 2:
            os._exit(128 + number)
        self.by = self.by or number
        self._cancel()


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Raise Stopped on SIGTERM, so that planning is rolled back, and restore the signal handlers afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, __: FrameType | None) -> None:
        raise Stopped("the run was stopped by a signal.")

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

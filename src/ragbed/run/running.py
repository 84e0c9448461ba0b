"""A whole run: plan once, then ask every model until each case has an outcome."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragbed.errors import RagbedError, Stopped, UsageError
from ragbed.models.base import Model
from ragbed.run.asking import Asking, Progress
from ragbed.run.cache import Cache
from ragbed.run.lock import hold
from ragbed.run.store import RunStore, connect, open_store
from ragbed.run.writer import Writer
from ragbed.schema import Case


@dataclass(frozen=True)
class Job:
    """What is to be run."""

    folder: Path
    settings: dict[str, str]
    """All that decides what is asked and how, by option; a run is resumed only with the same."""
    cases: Callable[[], Iterable[Case]]
    """Lays the cases out; called only for a run that was not planned yet."""
    models: Sequence[Model]
    repeats: int = 1
    cache: Path | None = None


def run(job: Job, watch: Callable[[str, Progress], None]) -> None:
    """Plans a new run or takes up an old one, and asks what is pending.

    Raises:
        UsageError: The folder holds a run with other settings.
        RagbedError: The store cannot be written, or a model cannot be asked at all.
    """
    with open_store(job.folder, create=True) as store, hold(job.folder):
        _plan(store, job)
        try:
            asyncio.run(_ask_all(store, job, watch))
        except asyncio.CancelledError:
            raise Stopped("told to end.") from None


def _plan(store: RunStore, job: Job) -> None:
    begun_with = store.settings()
    if not begun_with:
        store.plan(job.settings, job.cases())
        return
    for name in sorted(begun_with.keys() | job.settings.keys()):
        old, new = begun_with.get(name, "nothing"), job.settings.get(name, "nothing")
        if old != new:
            raise UsageError(f"{job.folder} was begun with {name} = {old}, not {new}; use another --out, or the same.")


async def _ask_all(store: RunStore, job: Job, watch: Callable[[str, Progress], None]) -> None:
    this = asyncio.current_task()
    if this is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    session = store.begin_session()
    cache = None if job.cache is None else Cache(job.cache)
    connection = connect(store.path)
    writer = Writer(store.path, connection)
    try:
        async with asyncio.TaskGroup() as group:
            for model in job.models:
                group.create_task(_ask_one(store, writer, session, model, cache, job, watch))
    except* RagbedError as several:
        raise several.exceptions[0] from None
    finally:
        await writer.close()
        connection.close()
        if cache is not None:
            cache.close()


async def _ask_one(
    store: RunStore, writer: Writer, session: int, model: Model, cache: Cache | None, job: Job,
    watch: Callable[[str, Progress], None],
) -> None:
    try:
        identity = await model.identity()
        number = store.add_model(model.name, identity)
        progress = Progress(total=store.size(job.repeats), done=store.done(number))
        asking = Asking(store, writer, session, model, number, identity, progress, cache,
                        lambda told: watch(model.name, told), lambda: None)
        await asking.run(job.repeats)
    finally:
        await model.close()

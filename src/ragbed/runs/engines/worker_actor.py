"""Run a pool's worker as a cluster actor that receives jobs and returns results in batches.

A call between two processes takes nearly a millisecond, but each additional job in a call takes almost no time. Jobs
that arrive together are therefore sent together, and so are results that are ready at the same time.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ragbed import __version__
from ragbed.errors import RagbedError
from ragbed.runs.engines.base import Worker

_GATHER_S = 0.005  # seconds to wait for more results after the first, because results often arrive in bursts
# If jobs are queued, wait for more results until their number reaches half the number of queued jobs, but no longer
# than this many seconds.
_GATHER_SPARE_S = 0.5
_QUIET_S = 20.0  # seconds without a result after which a worker reports its unfinished jobs


class WorkerReady(NamedTuple):
    """The report that a worker sends after it has been opened.

    `version` is ragbed's version, `what` is the worker's identity, and `opened` is the number of times it was opened,
    which shows whether a result is from before the last opening.
    """

    version: str
    what: str
    room: int
    opened: int
    spare: int = 0


class FinishedJob(NamedTuple):
    """The result or error of a job."""

    number: int
    result: Any
    error: RagbedError | None = None


class WorkerUpdate(NamedTuple):
    """A running worker's report. If no job finishes for a while, `held` contains the worker's job numbers."""

    room: int
    ended: list[FinishedJob]
    held: frozenset[int] | None = None


class WorkerActor:
    """A worker that runs in its own process on the cluster."""

    def __init__(self) -> None:
        self._worker: Worker[Any, Any] | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._ended: list[FinishedJob] = []
        self._some, self._many = asyncio.Event(), asyncio.Event()
        self._opened = 0

    async def is_there(self) -> bool:
        """Return True as soon as the worker's process is running on a node, before the worker is opened."""
        return True

    async def open(self, make: Callable[[], Worker[Any, Any]], folder: str) -> WorkerReady | RagbedError:
        """Create the worker. If the worker is reopened because it seemed to be lost, its jobs are dropped.

        Args:
            make: A function that creates the worker.
            folder: The driver's current folder, used for relative paths if it exists on this machine.
        """
        for task in self._tasks.values():
            task.cancel()
        for collection in (self._tasks, self._ended, self._some, self._many):
            collection.clear()
        self._opened += 1
        with suppress(OSError):
            os.chdir(folder)
        try:
            if self._worker is None:
                self._worker = await asyncio.to_thread(make)
            what = await self._worker.begin()
            return WorkerReady(__version__, what, self._worker.room, self._opened, self._worker.spare)
        except RagbedError as error:
            return error

    async def give(self, jobs: Sequence[tuple[int, object]]) -> None:
        """Start jobs, given as pairs of job number and job."""
        for number, job in jobs:
            self._tasks[number] = asyncio.create_task(self._do(number, job))

    async def take(self, opened: int) -> WorkerUpdate:
        """Return finished jobs as soon as there are any or, if none finishes for a while, all job numbers.

        Args:
            opened: The number of the latest opening known to the caller; results from earlier openings are discarded.
        """
        try:
            async with asyncio.timeout(_QUIET_S):
                await self._some.wait()
        except TimeoutError:
            return WorkerUpdate(self._room, [], frozenset(self._tasks).union(ended.number for ended in self._ended))
        with suppress(TimeoutError):
            async with asyncio.timeout(_GATHER_SPARE_S if self._spare else _GATHER_S):
                await self._many.wait()
        if opened != self._opened:
            return WorkerUpdate(0, [])
        self._some.clear()
        self._many.clear()
        ended, self._ended = self._ended, []
        return WorkerUpdate(self._room, ended)

    @property
    def _room(self) -> int:
        return 0 if self._worker is None else self._worker.room

    @property
    def _spare(self) -> int:
        return 0 if self._worker is None else self._worker.spare

    async def _do(self, number: int, job: object) -> None:
        assert self._worker is not None  # noqa: S101  # for the type checker: jobs come after the opening
        try:
            ended = FinishedJob(number, await self._worker.do(job))
        except RagbedError as error:
            ended = FinishedJob(number, None, error)
        except Exception:
            ended = FinishedJob(number, None, RagbedError(f"a worker failed.\n{traceback.format_exc()}"))
        self._tasks.pop(number, None)
        self._ended.append(ended)
        self._some.set()
        if self._spare and len(self._ended) >= max(1, self._spare // 2):
            self._many.set()

"""The worker's side of a crew: a hand, jobs that come in and results that wait to be fetched, many at a time.

A call between two processes costs a good part of a millisecond, a job in it next to nothing: so jobs that come up
together travel together, and so do results that are ready when somebody asks for them.
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

_GATHER_S = 0.005
"""After a result others are waited for: answers often come in bursts, and none is later by more than this."""

_TOGETHER_S = 0.5
"""So long where its next jobs are there already: half of those that wait may end before somebody must bring others."""

_QUIET_S = 20.0
"""Without a result; then a worker at least says what it has."""


class WorkerReady(NamedTuple):
    """What a worker says of itself."""

    version: str
    """Of ragbed."""
    what: str
    """What its hand is."""
    room: int
    opened: int
    """How often it was opened: the answers to older questions are stale."""
    spare: int = 0
    """How many of its jobs only wait."""


class FinishedJob(NamedTuple):
    """How a job ended: with a result, or with an error."""

    number: int
    result: Any
    error: RagbedError | None = None


class WorkerUpdate(NamedTuple):
    """What a worker has to say."""

    room: int
    """How many jobs it takes at once."""
    ended: list[FinishedJob]
    held: frozenset[int] | None = None
    """Where nothing has ended for long: the jobs that it has, so that one that never arrived is missed."""


class WorkerActor:
    """A worker; it becomes an actor of the cluster."""

    def __init__(self) -> None:
        self._hand: Worker[Any, Any] | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._ended: list[FinishedJob] = []
        self._some, self._many = asyncio.Event(), asyncio.Event()
        self._opened = 0

    async def is_there(self) -> bool:
        """Whether the worker has a place and a process; it need not be of use yet."""
        return True

    async def open(self, make: Callable[[], Worker[Any, Any]], folder: str) -> WorkerReady | RagbedError:
        """Makes the hand; told so again, because it seemed to be lost, a worker forgets what it was doing.

        Args:
            make: Makes it.
            folder: Where the command was typed: paths are meant from there, if there is such a folder here.
        """
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._ended.clear()
        self._some.clear()
        self._many.clear()
        self._opened += 1
        with suppress(OSError):
            os.chdir(folder)
        try:
            if self._hand is None:
                self._hand = await asyncio.to_thread(make)
            what = await self._hand.begin()
            return WorkerReady(__version__, what, self._hand.room, self._opened, self._hand.spare)
        except RagbedError as error:
            return error

    async def give(self, jobs: Sequence[tuple[int, object]]) -> None:
        """Takes jobs in, each with its number."""
        for number, job in jobs:
            self._tasks[number] = asyncio.create_task(self._do(number, job))

    async def take(self, opened: int) -> WorkerUpdate:
        """What has ended since the last time, once there is anything, or in any case after a while.

        Args:
            opened: The opening that it is about; who asks about an earlier one is waited for by nobody any more.
        """
        try:
            async with asyncio.timeout(_QUIET_S):
                await self._some.wait()
        except TimeoutError:
            return WorkerUpdate(self._room, [], frozenset(self._tasks).union(ended.number for ended in self._ended))
        with suppress(TimeoutError):
            async with asyncio.timeout(_TOGETHER_S if self._spare else _GATHER_S):
                await self._many.wait()
        if opened != self._opened:
            return WorkerUpdate(0, [])
        self._some.clear()
        self._many.clear()
        ended, self._ended = self._ended, []
        return WorkerUpdate(self._room, ended)

    @property
    def _room(self) -> int:
        return 0 if self._hand is None else self._hand.room

    @property
    def _spare(self) -> int:
        return 0 if self._hand is None else self._hand.spare

    async def _do(self, number: int, job: object) -> None:
        assert self._hand is not None  # noqa: S101  # for the type checker: nothing is given before it is open
        try:
            ended = FinishedJob(number, await self._hand.do(job))
        except RagbedError as error:
            ended = FinishedJob(number, None, error)
        except Exception:
            ended = FinishedJob(number, None, RagbedError(f"a worker failed.\n{traceback.format_exc()}"))
        self._tasks.pop(number, None)
        self._ended.append(ended)
        self._some.set()
        if self._spare and len(self._ended) >= max(1, self._spare // 2):
            self._many.set()

# ruff: noqa: ANN401
"""The driver's side of a crew: workers of a cluster, each with a hand, that look like one.

Ray starts workers, finds places for them and starts them again elsewhere when they end. What a worker had when it
ended is told of as lost: only who gave it knows whether it may be done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragbed import __version__
from ragbed.errors import RagbedError
from ragbed.models.base import WorkerLost
from ragbed.runs.engines.base import ReplicaSpec, Worker
from ragbed.runs.engines.worker_actor import WorkerActor, WorkerReady, WorkerUpdate
from ragbed.runs.engines.worker_errors import brief, check_version, explain_missing

# The library is imported where it is asked for and has no types for what it makes of a class.


_ENDS = 5
"""So often in a row a worker may end without having done anything before it is given up."""
_LOOK_S, _PATIENCE_S = 0.5, 60.0
"""Between two looks whether a worker has a place, and until the user hears that it has none."""
_HOLD_S = 0.02
"""So long a job waits for others to travel with, to a worker that has enough to do."""
_AT_ONCE = 100
"""Calls that a worker's process takes at a time: one that waits for results, and those that bring jobs."""


@dataclass(eq=False)
class _Member:
    """One worker."""

    actor: Any
    give: Callable[[list[tuple[int, object]]], object]
    """Hands jobs over, and nobody waits for an answer."""
    room: int = 0
    """0 as long as it is not ready."""
    spare: int = 0
    """How many of its jobs only wait."""
    jobs: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    """What it has, by number."""
    outbox: list[tuple[int, object]] = field(default_factory=list)
    """What it is given when the loop comes round."""
    ends: int = 0
    """In a row, without anything done in between."""

    @property
    def free(self) -> int:
        return self.room - len(self.jobs)

    @property
    def is_busy(self) -> bool:
        """Whether it has jobs for a while yet."""
        return len(self.jobs) - len(self.outbox) > self.room - self.spare // 2

    def settle(self, taken: WorkerUpdate, given: int) -> None:
        """Results came; what it was given before it seemed to be lost is known no more, and nobody waits for it.

        Args:
            taken: What the worker says.
            given: The number of the last job before it was asked; younger ones may be on their way.
        """
        self.room = taken.room
        if taken.ended:
            self.ends = 0
        if taken.held is not None:
            gone = {number for number in self.jobs if number <= given} - taken.held
            self._end({number: self.jobs.pop(number) for number in gone}, WorkerLost("it never arrived"))
        for number, result, error in taken.ended:
            future = self.jobs.pop(number, None)
            if future is None or future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def lose(self, why: Exception) -> None:
        """It is gone, with all it had."""
        jobs, self.jobs, self.outbox, self.room = self.jobs, {}, [], 0
        self._end(jobs, why)

    @staticmethod
    def _end(jobs: dict[int, asyncio.Future[Any]], why: Exception) -> None:
        for future in jobs.values():
            if not future.done():
                future.set_exception(why)


class ActorPool:
    """Hands on a cluster as one hand.

    Args:
        ray: The library.
        make: Makes a hand; called where a worker is.
        share: How many there are to be, and what each needs.
        tell: Told of workers that are given up while others work.
    """

    def __init__(
        self, ray: Any, make: Callable[[], Worker[Any, Any]], share: ReplicaSpec, tell: Callable[[str], None]
    ) -> None:
        self._ray, self._make, self._share, self._say = ray, make, share, tell
        self.changed: Callable[[], object] = lambda: None
        """Called whenever there is more or less room than before."""
        self._members: list[_Member] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._what: str | None = None
        self._broken: RagbedError | None = None
        self._given = 0

    @property
    def room(self) -> int:
        """Of all together."""
        return sum(member.room for member in self._members)

    @property
    def spare(self) -> int:
        """Of all together."""
        return sum(member.spare for member in self._members)

    async def begin(self) -> str:
        """Starts the workers and waits for the first of them.

        Raises:
            RagbedError: None can work.
        """
        if not self._tasks:
            needs = {"num_cpus": self._share.cpus, "num_gpus": self._share.gpus, "scheduling_strategy": "SPREAD"}
            actor = self._ray.remote(**needs, max_restarts=-1, max_concurrency=_AT_ONCE)(WorkerActor)
            self._members = [_member(actor.remote()) for _ in range(self._share.count)]
            self._tasks = [asyncio.create_task(self._serve(member)) for member in self._members]
        while self._what is None:
            await self._wait()
        return self._what

    async def do(self, job: object) -> Any:
        """Gives a job to who has most room, and waits for what comes of it.

        Raises:
            WorkerLost: Who had it has ended.
            RagbedError: Nobody is left to do it, or the job itself failed so.
        """
        if not self._tasks:
            await self.begin()
        while True:
            member = max(self._members, key=lambda one: one.free, default=None)
            if member is not None and member.free > 0:
                return await self._give(member, job)
            await self._wait()

    async def close(self) -> None:
        """Ends the workers, whatever they are doing."""
        tasks, members, self._tasks, self._members, self._what = self._tasks, self._members, [], [], None
        for task in tasks:
            task.cancel()
        for member in members:
            self._ray.kill(member.actor)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _give(self, member: _Member, job: object) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        if not member.outbox and member.is_busy:
            loop.call_later(_HOLD_S, self._send, member)
        elif not member.outbox:
            loop.call_soon(self._send, member)  # with all that comes up before the loop is round
        self._given += 1
        member.outbox.append((self._given, job))
        future = member.jobs[self._given] = loop.create_future()
        return future

    @staticmethod
    def _send(member: _Member) -> None:
        jobs, member.outbox = member.outbox, []
        if jobs:
            member.give(jobs)

    async def _serve(self, member: _Member) -> None:
        """Looks after one worker for as long as it is of use."""
        try:
            while member.ends < _ENDS:
                try:
                    opened = await self._open(member)
                    while True:
                        given = self._given
                        member.settle(await member.actor.take.remote(opened), given)
                        self._tell()
                except self._ray.exceptions.RayError as error:
                    last = error
                    member.ends += 1
                    member.lose(WorkerLost(brief(error)))
                    self._tell()
            raise RagbedError(
                f"a worker ended {_ENDS} times without having done anything: {brief(last)}. Most often memory is "
                "lacking: take fewer --replicas, smaller ones, or larger nodes. What is done is kept, and the same "
                "command goes on."
            )
        except RagbedError as error:
            self._retire(member, error)
        except Exception as error:  # who waits for its results must hear of it
            self._retire(member, RagbedError(f"a worker cannot be looked after: {error!r}."))

    async def _open(self, member: _Member) -> int:
        """Has a worker make its hand; gives how often it did.

        Raises:
            RagbedError: It cannot, or it would be another one.
        """
        await self._find(member)
        ready = await member.actor.open.remote(self._make, str(Path.cwd()))
        if isinstance(ready, RagbedError):
            raise RagbedError(f"on a worker: {ready}")
        self._check(ready)
        member.room, member.spare, self._what = ready.room, ready.spare, self._what or ready.what
        self._tell()
        return int(ready.opened)

    async def _find(self, member: _Member) -> None:
        """Waits until Ray has found a place for a worker, and started it there: not to have one yet is no end."""
        told = "a worker waits for a place on the cluster: all nodes are taken, or one is gone."
        timer = asyncio.get_running_loop().call_later(_PATIENCE_S, self._say, told)
        try:
            while True:
                try:
                    await member.actor.is_there.remote()
                    return
                except self._ray.exceptions.ActorUnavailableError:
                    await asyncio.sleep(_LOOK_S)
        except self._ray.exceptions.ActorDiedError as error:
            raise RagbedError(explain_missing(error)) from None
        finally:
            timer.cancel()

    def _check(self, ready: WorkerReady) -> None:
        check_version(ready.version, __version__)
        if self._what and ready.what and ready.what != self._what:  # some do not always say what they are
            raise RagbedError(f"workers differ: one has {ready.what}, another {self._what}. Give all the same.")

    def _retire(self, member: _Member, why: RagbedError) -> None:
        """Goes on without a worker; without the last one it cannot."""
        self._members.remove(member)
        self._ray.kill(member.actor)
        member.lose(WorkerLost(str(why)))
        if self._members:
            self._say(f"{why} The other {len(self._members)} go on.")
        else:
            self._broken = why
        self._tell()

    async def _wait(self) -> None:
        """Until something changes."""
        if self._broken is not None:
            raise self._broken
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(change)
        await change

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)
        self.changed()


def _member(actor: Any) -> _Member:
    return _Member(actor, actor.give.options(num_returns=0).remote)


class RetryingPool:
    """A crew that does again what a worker had when it ended.

    Args:
        crew: Does it.
        tries: For one job.
    """

    def __init__(self, crew: ActorPool, tries: int) -> None:
        self._crew, self._tries = crew, tries

    @property
    def room(self) -> int:
        """Of the crew."""
        return self._crew.room

    @property
    def spare(self) -> int:
        """Of the crew."""
        return self._crew.spare

    async def begin(self) -> str:
        """Starts the crew."""
        return await self._crew.begin()

    async def do(self, job: object) -> Any:  # whatever the hand gives
        """Has a job done."""
        for _ in range(self._tries):
            try:
                return await self._crew.do(job)
            except WorkerLost as error:
                last = error
        raise RagbedError(f"{self._tries} workers ended over one piece of work; the last: {last}")

    async def close(self) -> None:
        """Ends the crew."""
        await self._crew.close()

# ruff: noqa: ANN401  # Ray is imported on first use and has no types for actors.
"""Present a pool of cluster workers as a single worker.

Ray starts the workers as actors, assigns them to nodes, and restarts them on another node when they die. A job is one
call of an actor's method, which Ray executes at most once. The jobs of a dead worker are reported as lost, because only
the caller knows whether they may be repeated.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ragbed import __version__
from ragbed.errors import RagbedError
from ragbed.models.base import WorkerLost
from ragbed.runs.engines import ReplicaSpec

_MAX_ENDS = 5  # maximum number of times in a row that a worker may die without finishing a job
# Seconds between checks for a free node, and seconds until the user is warned that there is none.
_RETRY_S, WARN_AFTER_S = 0.5, 60.0
_MAX_JOBS = 10_000  # maximum number of concurrent jobs of a worker, more than any worker accepts
_MAX_MESSAGE = 300  # maximum number of characters shown from a Ray message


class Worker(Protocol):
    """A worker for one type of job, e.g. a model."""

    @property
    def room(self) -> int:
        """The maximum number of concurrent jobs, which may increase over time."""

    async def begin(self) -> str:
        """Prepare the worker and return its identity, which must be the same for all workers in a pool."""

    async def do(self, job: Any) -> Any:
        """Execute a job and return its result."""

    async def close(self) -> None:
        """Release all resources."""


class WorkerReady(NamedTuple):
    """The report of a worker that has been opened: ragbed's version, the worker's identity and its room."""

    version: str
    what: str
    room: int


class FinishedJob(NamedTuple):
    """The result of a job, or the error with which it ended, and the worker's room."""

    result: Any
    room: int


class WorkerActor:
    """A worker that runs in its own process on the cluster.

    Args:
        make: A function that creates the worker.
        folder: The driver's current folder, used for relative paths if it exists on this machine.
    """

    def __init__(self, make: Callable[[], Worker], folder: str) -> None:
        self._make = make
        self._worker: Worker | None = None
        with suppress(OSError):
            os.chdir(folder)

    async def is_there(self) -> bool:
        """Return True as soon as the worker's process is running on a node, before the worker is opened."""
        return True

    async def open(self) -> WorkerReady | RagbedError:
        """Create the worker, unless it seemed to be lost but still exists."""
        try:
            if self._worker is None:
                self._worker = await asyncio.to_thread(self._make)
            return WorkerReady(__version__, await self._worker.begin(), self._worker.room)
        except RagbedError as error:
            return error

    async def do(self, job: object) -> FinishedJob:
        """Execute a job."""
        if self._worker is None:
            return FinishedJob(WorkerLost("the worker was restarted before the job reached it"), 0)
        result: Any
        try:
            result = await self._worker.do(job)
        except RagbedError as error:
            result = error
        except Exception:
            result = RagbedError(f"a worker failed.\n{traceback.format_exc()}")
        return FinishedJob(result, self._worker.room)


@dataclass(eq=False)
class _Member:
    """A pool worker; `room` is 0 until the worker is ready, and `ends` counts its exits since the last result."""

    actor: Any
    room: int = 0
    running: int = 0
    ends: int = 0
    loss: asyncio.Future[Exception] = field(default_factory=asyncio.Future)  # done if the opened worker has died


class ActorPool:
    """A pool of cluster workers that acts as one worker.

    Args:
        ray: The library.
        make: A function that creates a worker; it is called on the cluster.
        share: The number of workers and the resources for each.
        tell: Called if a worker is abandoned while others continue.

    Attributes:
        changed: Called whenever `room` changes.
    """

    def __init__(
        self,
        ray: Any,
        make: Callable[[], Worker],
        share: ReplicaSpec,
        tell: Callable[[str], None],
    ) -> None:
        self._ray, self._make, self._share, self._tell = ray, make, share, tell
        self.changed: Callable[[], object] = lambda: None
        self._members: list[_Member] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._what: str | None = None
        self._broken: RagbedError | None = None

    @property
    def room(self) -> int:
        """The maximum number of concurrent jobs, summed over all workers."""
        return sum(member.room for member in self._members)

    async def begin(self) -> str:
        """Start the workers and wait until the first one is ready.

        Raises:
            RagbedError: No worker could be started.
        """
        if not self._tasks:
            needs = {"num_cpus": self._share.cpus, "num_gpus": self._share.gpus, "scheduling_strategy": "SPREAD"}
            actor = self._ray.remote(**needs, max_restarts=-1, max_concurrency=_MAX_JOBS)(WorkerActor)
            folder = str(Path.cwd())
            self._members = [_Member(actor.remote(self._make, folder)) for _ in range(self._share.count)]
            self._tasks = [asyncio.create_task(self._serve(member)) for member in self._members]
        while self._what is None:
            await self._wait()
        return self._what

    async def do(self, job: object) -> Any:
        """Assign a job to the worker with the most free capacity, and return the result.

        Raises:
            WorkerLost: The worker died, and it is unknown whether the job was done.
            RagbedError: No worker is left, or the job failed.
        """
        if not self._tasks:
            await self.begin()
        while True:
            member = max(self._members, key=lambda member: member.room - member.running, default=None)
            if member is not None and member.room > member.running:
                break
            await self._wait()
        loss = member.loss
        member.running += 1
        try:
            result, room = await member.actor.do.remote(job)
        except self._ray.exceptions.RayError as error:
            if not loss.done():
                member.room = 0
                loss.set_result(error)
            raise WorkerLost(shorten(error)) from None
        finally:
            member.running -= 1
            self._notify()
        if isinstance(result, Exception):
            raise result
        member.ends = 0
        if not loss.done() and room != member.room:
            member.room = room
            self.changed()
        return result

    async def close(self) -> None:
        """Terminate the workers, even if they are busy."""
        tasks, members, self._tasks, self._members, self._what = self._tasks, self._members, [], [], None
        for task in tasks:
            task.cancel()
        for member in members:
            self._ray.kill(member.actor)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, member: _Member) -> None:
        """Open a worker, and open it again whenever it has died."""
        try:
            while member.ends < _MAX_ENDS:
                try:
                    await self._open(member)
                    last: Exception = await member.loss
                except self._ray.exceptions.RayError as error:
                    last = error
                member.ends += 1
                self._notify()
            raise RagbedError(
                f"a worker exited or failed {_MAX_ENDS} times without completing a job: {shorten(last).rstrip('.')}. "
                "The usual cause is insufficient memory: use fewer `replicas`, a smaller model or larger nodes. All "
                "results so far are stored; rerun the same command to resume."
            )
        except RagbedError as error:
            self._retire(member, error)
        except Exception as error:  # callers waiting for results must receive every error
            self._retire(member, RagbedError(f"a worker failed: {error!r}."))

    async def _open(self, member: _Member) -> None:
        """Wait until a worker runs on a node, and open it.

        Raises:
            RagbedError: The worker cannot be opened, or its identity differs from that of the others.
        """
        await self._find_node(member)
        ready = await member.actor.open.remote()
        if isinstance(ready, RagbedError):
            raise RagbedError(f"a worker reported an error: {ready}")
        check_version(ready.version, __version__)
        if self._what and ready.what and ready.what != self._what:  # some models do not always report an identity
            raise RagbedError(
                f"the workers run different models: one runs {ready.what}, another runs {self._what}. Use the same "
                "model on all nodes."
            )
        member.room, member.loss = ready.room, asyncio.Future()
        self._what = self._what or ready.what
        self._notify()

    async def _find_node(self, member: _Member) -> None:
        message = (
            "a worker is waiting for a free node in the cluster: all nodes are busy, or a node has left the cluster."
        )
        timer = asyncio.get_running_loop().call_later(WARN_AFTER_S, self._tell, message)
        try:
            while True:
                try:
                    await member.actor.is_there.remote()
                    return
                except self._ray.exceptions.ActorUnavailableError:
                    await asyncio.sleep(_RETRY_S)
        except self._ray.exceptions.ActorDiedError as error:
            raise RagbedError(explain_start_failure(error)) from None
        finally:
            timer.cancel()

    def _retire(self, member: _Member, why: RagbedError) -> None:
        self._members.remove(member)
        self._ray.kill(member.actor)
        if self._members:
            self._tell(f"{why} The other {len(self._members)} workers continue.")
        else:
            self._broken = why
        self._notify()

    async def _wait(self) -> None:
        if self._broken is not None:
            raise self._broken
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(change)
        await change

    def _notify(self) -> None:
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done():
                change.set_result(None)
        self.changed()


def check_version(worker: str, driver: str) -> None:
    """Reject a worker that runs a different version of ragbed, because its results might differ.

    Raises:
        RagbedError: The versions differ.
    """
    if worker != driver:
        raise RagbedError(
            f"a worker runs ragbed {worker}, but this machine runs {driver}. Install the same version on "
            f"all machines: pip install 'ragbed[ray]=={driver}'"
        )


def lacks_ragbed(error: Exception) -> bool:
    """Return whether a worker could not start because ragbed is not installed on its node."""
    return "No module named 'ragbed'" in str(error)


def explain_lost_job(tries: int, why: str) -> str:
    """Explain why a job was given up: every worker that tried it exited."""
    return (
        f"{tries} workers exited during one job; the last error was: {why.rstrip('.')}. The usual "
        "cause is insufficient memory: use larger nodes, then rerun the same command."
    )


def explain_start_failure(error: Exception) -> str:
    """Explain why a worker could not start, and how to fix the problem."""
    if lacks_ragbed(error):
        return (
            "ragbed is not installed on the workers; install it on every node: pip install "
            f"'ragbed[ray]=={__version__}'"
        )
    return f"a worker cannot start: {shorten(error)}. All results so far are stored; rerun the same command to resume."


def shorten(error: Exception) -> str:
    """Shorten Ray's message to one line, or replace it if it describes a killed process only as a lost connection.

    If code on the worker raised an exception, return that exception: Ray's message starts with a long traceback.
    """
    cause = getattr(error, "cause", None)
    message = " ".join((f"{type(cause).__name__}: {cause}" if isinstance(cause, Exception) else str(error)).split())
    if "Socket closed" in message or "unavailable" in message or "unexpectedly" in message:
        return "its process was killed, or its node has left the cluster"
    return message[:_MAX_MESSAGE]

# ruff: noqa: ANN401  # Ray is imported on first use and has no types for actors.
"""Present a pool of cluster workers as a single worker.

Ray starts workers, assigns them to nodes, and restarts them on another node when they die. The jobs of a dead worker
are reported as lost, because only the caller knows whether they may be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragbed import __version__
from ragbed.errors import RagbedError, option
from ragbed.models.base import WorkerLost
from ragbed.runs.engines.base import ReplicaSpec, Worker
from ragbed.runs.engines.worker_actor import WorkerActor, WorkerUpdate

_MAX_ENDS = 5  # maximum number of times in a row that a worker may die without finishing a job
# Seconds between checks for a free node, and seconds until the user is warned that there is none.
_RETRY_S, WARN_AFTER_S = 0.5, 60.0
_HOLD_S = 0.02  # seconds to hold back a job for a busy worker, so that it can be sent together with other jobs
_MAX_CALLS = 100  # maximum number of concurrent calls to a worker: one waits for results, the others send jobs
_MAX_MESSAGE = 300  # maximum number of characters shown from a Ray message


@dataclass(eq=False)
class _Member:
    """A pool worker; `room` is 0 until the worker is ready, and `ends` counts its exits since the last result."""

    actor: Any
    room: int = 0
    spare: int = 0
    jobs: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    outbox: list[tuple[int, object]] = field(default_factory=list)  # jobs waiting to be sent together
    ends: int = 0

    def __post_init__(self) -> None:
        self._give = self.actor.give.options(num_returns=0).remote

    @property
    def free(self) -> int:
        return self.room - len(self.jobs)

    @property
    def is_busy(self) -> bool:
        """Whether the worker has enough running and queued jobs for now."""
        return len(self.jobs) - len(self.outbox) > self.room - self.spare // 2

    def send(self) -> None:
        jobs, self.outbox = self.outbox, []
        if jobs:
            self._give(jobs)

    def settle(self, update: WorkerUpdate, given: int) -> None:
        """Process a worker's report; jobs that are missing from the reported list fail with WorkerLost.

        Args:
            update: The report.
            given: The number of the last job sent before the report was requested; later jobs may not have arrived yet.
        """
        self.room = update.room
        if update.ended:
            self.ends = 0
        if update.held is not None:
            for number in {number for number in self.jobs if number <= given} - update.held:
                self._finish(number, None, WorkerLost("the job did not reach the worker"))
        for number, result, error in update.ended:
            self._finish(number, result, error)

    def lose(self, why: Exception) -> None:
        """Fail all of the worker's jobs because the worker has died."""
        self.outbox, self.room = [], 0
        for number in list(self.jobs):
            self._finish(number, None, why)

    def _finish(self, number: int, result: Any, error: Exception | None) -> None:
        future = self.jobs.pop(number, None)
        if future is None or future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class ActorPool:
    """A pool of cluster workers that acts as one worker.

    Args:
        ray: The library.
        make: A function that creates a worker; it is called on the cluster.
        share: The number of workers and the resources for each.
        tell: Called if a worker is abandoned while others continue.
        tries: Maximum number of attempts for a job if its workers die.

    Attributes:
        changed: Called whenever `room` changes.
    """

    def __init__(
        self,
        ray: Any,
        make: Callable[[], Worker[Any, Any]],
        share: ReplicaSpec,
        tell: Callable[[str], None],
        tries: int = 1,
    ) -> None:
        self._ray, self._make, self._share, self._tell, self._tries = ray, make, share, tell, tries
        self.changed: Callable[[], object] = lambda: None
        self._members: list[_Member] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._what: str | None = None
        self._broken: RagbedError | None = None
        self._given = 0

    @property
    def room(self) -> int:
        """The maximum number of concurrent jobs, summed over all workers."""
        return sum(member.room for member in self._members)

    @property
    def spare(self) -> int:
        """The part of `room` reserved for jobs that are queued rather than running, summed over all workers."""
        return sum(member.spare for member in self._members)

    async def begin(self) -> str:
        """Start the workers and wait until the first one is ready.

        Raises:
            RagbedError: No worker could be started.
        """
        if not self._tasks:
            needs = {"num_cpus": self._share.cpus, "num_gpus": self._share.gpus, "scheduling_strategy": "SPREAD"}
            actor = self._ray.remote(**needs, max_restarts=-1, max_concurrency=_MAX_CALLS)(WorkerActor)
            self._members = [_Member(actor.remote()) for _ in range(self._share.count)]
            self._tasks = [asyncio.create_task(self._serve(member)) for member in self._members]
        while self._what is None:
            await self._wait()
        return self._what

    async def do(self, job: object) -> Any:
        """Assign a job to the worker with the most free capacity, and return the result.

        Raises:
            WorkerLost: The worker died, and the pool does not retry.
            RagbedError: No worker is left, the job failed, or all workers that tried it died.
        """
        if self._tries == 1:
            return await self._do_once(job)
        for _ in range(self._tries):
            try:
                return await self._do_once(job)
            except WorkerLost as error:
                last = error
        raise RagbedError(explain_lost_job(self._tries, str(last)))

    async def _do_once(self, job: object) -> Any:
        if not self._tasks:
            await self.begin()
        while True:
            member = max(self._members, key=lambda member: member.free, default=None)
            if member is not None and member.free > 0:
                return await self._give(member, job)
            await self._wait()

    async def close(self) -> None:
        """Terminate the workers, even if they are busy."""
        tasks, members, self._tasks, self._members, self._what = self._tasks, self._members, [], [], None
        for task in tasks:
            task.cancel()
        for member in members:
            self._ray.kill(member.actor)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _give(self, member: _Member, job: object) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        if not member.outbox:  # the first job starts a timer; jobs added before it expires are sent together
            loop.call_later(_HOLD_S if member.is_busy else 0, member.send)
        self._given += 1
        member.outbox.append((self._given, job))
        future = member.jobs[self._given] = loop.create_future()
        return future

    async def _serve(self, member: _Member) -> None:
        try:
            while member.ends < _MAX_ENDS:
                try:
                    opened = await self._open(member)
                    while True:
                        given = self._given
                        member.settle(await member.actor.take.remote(opened), given)
                        self._notify()
                except self._ray.exceptions.RayError as error:
                    last = error
                    member.ends += 1
                    member.lose(WorkerLost(shorten(error)))
                    self._notify()
            raise RagbedError(
                f"a worker exited or failed {_MAX_ENDS} times without completing a job: {shorten(last).rstrip('.')}. "
                f"The usual cause is insufficient memory: use fewer {option('replicas')}, a smaller model or larger "
                "nodes. All "
                "results so far are stored; rerun the same command to resume."
            )
        except RagbedError as error:
            self._retire(member, error)
        except Exception as error:  # callers waiting for results must receive every error
            self._retire(member, RagbedError(f"a worker failed: {error!r}."))

    async def _open(self, member: _Member) -> int:
        """Open a worker if necessary, and return how many times it has been opened.

        Raises:
            RagbedError: The worker cannot be opened, or its identity differs from that of the others.
        """
        await self._find_node(member)
        ready = await member.actor.open.remote(self._make, str(Path.cwd()))
        if isinstance(ready, RagbedError):
            raise RagbedError(f"a worker reported an error: {ready}")
        check_version(ready.version, __version__)
        if self._what and ready.what and ready.what != self._what:  # some models do not always report an identity
            raise RagbedError(
                f"the workers run different models: one runs {ready.what}, another runs {self._what}. Use the same "
                "model on all nodes."
            )
        member.room, member.spare, self._what = ready.room, ready.spare, self._what or ready.what
        self._notify()
        return int(ready.opened)

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
        member.lose(WorkerLost(str(why)))
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

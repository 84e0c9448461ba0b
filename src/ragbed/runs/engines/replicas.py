# ruff: noqa: ANN401  # Ray is imported on first use and has no types for actors.
"""Replicas of a model on a Ray cluster, which act as one model.

Each replica is an actor: Ray assigns it to a node, restarts it on another node when it dies, and executes each call at
most once. The calls of a dead replica are reported as lost, because only the caller knows whether they may be repeated.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ragbed import __version__, environment
from ragbed.errors import RagbedError, option
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model, WorkerLost
from ragbed.runs.engines import ReplicaSpec
from ragbed.schema import Case, Completion
from ragbed.testbeds.search.corpora import SearchCorpus

_MAX_ENDS = 5  # maximum number of times in a row that a replica may die without finishing a call
# Seconds between checks for a free node, and seconds until the user is warned that there is none.
_RETRY_S, WARN_AFTER_S = 0.5, 60.0
_MAX_CALLS = 10_000  # maximum number of concurrent calls of a replica, more than any model accepts
_MAX_MESSAGE = 300  # maximum number of characters shown from a Ray message
# Environment variables whose names end with one of these suffixes (keys and URLs) are sent to the replicas. For all
# other variables, replicas use the values on their machine.
_CARRIED = (
    "_API_KEY",
    "_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "HF_TOKEN",
    "HF_ENDPOINT",
)
# The optional attributes of a model that its replicas have in common.
_SHARED = (
    "reuses_prefixes",
    "answers_afresh",
    "replays",
    "languages",
    "check_provided",
    "takes_prompts",
    "header_names",
    "cache_scope",
    "calls_tools",
)


def share_wish(wish: ModelConfig, count: int) -> ModelConfig:
    """Return the configuration for each replica, with its share of the user's limits."""
    return replace(
        wish,
        environ={name: value for name, value in wish.environ.items() if name.endswith(_CARRIED)},
        # Systems that use the search tool run only in the main process, and language models search through it.
        corpora={key: corpus for key, corpus in wish.corpora.items() if not isinstance(corpus, SearchCorpus)},
        connections=None if wish.connections is None else max(1, wish.connections // count),
        per_minute=None if wish.per_minute is None else wish.per_minute / count,
    )


class OpenedModel(NamedTuple):
    """The report of a replica that has opened its model: ragbed's version, the model's identity and concurrency."""

    version: str
    identity: str
    room: int


class ReplicaResponse(NamedTuple):
    """The outcome of a call, the model's concurrency, and what the replica sent to its server and changed for it."""

    completion: Completion | Exception
    room: int
    sent: Mapping[str, Any] = {}
    negotiated: str = ""


class ModelActor:
    """A model that runs in its own process on the cluster.

    Args:
        spec: The model string.
        wish: The model's configuration.
        folder: The driver's current folder, used for relative paths if it exists on this machine.
    """

    def __init__(self, spec: str, wish: ModelConfig, folder: str) -> None:
        self._spec, self._wish = spec, wish
        self._model: Model | None = None
        with suppress(OSError):
            os.chdir(folder)

    async def is_there(self) -> bool:
        """Return True as soon as the process is running on a node, before the model is opened."""
        return True

    async def open(self) -> OpenedModel | RagbedError:
        """Open the model, unless this replica seemed to be lost but still exists."""
        environ = dict(environment.variables()) | dict(self._wish.environ)  # the variables of this machine
        try:
            if self._model is None:
                self._model = await asyncio.to_thread(
                    open_model, self._spec, lambda name: replace(self._wish, model=name, environ=environ)
                )
            return OpenedModel(__version__, await self._model.identity(), self._model.concurrency)
        except RagbedError as error:
            return error

    async def complete(self, case: Case, repeat: int) -> ReplicaResponse:
        """Call the model with a case."""
        if (model := self._model) is None:
            return ReplicaResponse(WorkerLost("the worker was restarted before the call reached it"), 0)
        result: Completion | Exception
        try:
            result = await model.complete(case, repeat)
        except Exception:
            result = RagbedError(f"a worker failed.\n{traceback.format_exc()}")
        return ReplicaResponse(result, model.concurrency, getattr(model, "sent", {}), getattr(model, "negotiated", ""))


@dataclass(eq=False)
class _Replica:
    """A replica; `room` is 0 until its model is open, and `ends` counts its exits since the last response."""

    actor: Any
    room: int = 0
    running: int = 0
    ends: int = 0
    loss: asyncio.Future[Exception] = field(default_factory=asyncio.Future)  # done if the opened replica has died


class ReplicatedModel:
    """A model's replicas presented as one model.

    Args:
        ray: The library.
        spec: The model string.
        wish: The model's configuration; its limits apply to all replicas together.
        share: The number of replicas and the resources for each.
        tell: Called if no node is free.

    Attributes:
        sent: The parameters that a replica most recently sent to its server, without the prompt.
        negotiated: The changes that this replica has made for its server.
    """

    def __init__(self, ray: Any, spec: str, wish: ModelConfig, share: ReplicaSpec, tell: Callable[[str], None]) -> None:
        # The same model in this process, which builds the requests but does not load weights.
        model = open_model(spec, lambda name: replace(wish, model=name, loads=False))
        self.name, self.advice, self.request = model.name, model.advice, model.request
        for name in _SHARED:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self._ray, self._spec, self._wish, self._share, self._tell = ray, spec, wish, share, tell
        self._replicas: list[_Replica] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._identity: str | None = None
        self._broken: RagbedError | None = None
        self.concurrency, self.negotiated = 1, ""
        self.sent: Mapping[str, Any] = {}
        self.make_room: Callable[[], object] = lambda: None

    async def identity(self) -> str:
        """Start the replicas, wait until the first one is ready, and return its identity.

        Raises:
            RagbedError: No replica could be started.
        """
        if not self._tasks:
            self._change = asyncio.Event()
            needs = {"num_cpus": self._share.cpus, "num_gpus": self._share.gpus, "scheduling_strategy": "SPREAD"}
            actor = self._ray.remote(**needs, max_restarts=-1, max_concurrency=_MAX_CALLS)(ModelActor)
            wish, count = share_wish(self._wish, self._share.count), self._share.count
            self._replicas = [_Replica(actor.remote(self._spec, wish, str(Path.cwd()))) for _ in range(count)]
            self._tasks = [asyncio.create_task(self._serve(replica)) for replica in self._replicas]
        while self._identity is None:
            await self._wait()
        return self._identity

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Call the replica with the most free capacity.

        Raises:
            WorkerLost: The replica died, and it is unknown whether the call was made.
            RagbedError: A replica cannot be started, or the call failed.
        """
        await self.identity()
        while True:
            replica = max(self._replicas, key=lambda replica: replica.room - replica.running)
            if replica.room > replica.running:
                break
            await self._wait()
        loss = replica.loss
        replica.running += 1
        try:
            response: ReplicaResponse = await replica.actor.complete.remote(case, repeat)
        except self._ray.exceptions.RayError as error:
            if not loss.done():
                replica.room = 0
                loss.set_result(error)
            raise WorkerLost(shorten(error)) from None
        finally:
            replica.running -= 1
            self._notify()
        if isinstance(response.completion, Exception):
            raise response.completion
        # A replica whose calls have all failed reports only its changes.
        self.sent, self.negotiated = response.sent or self.sent, response.negotiated
        replica.ends = 0
        if not loss.done() and response.room != replica.room:
            replica.room = response.room
            self._notify()
        return response.completion

    async def close(self) -> None:
        """Terminate the replicas, even if they are busy."""
        tasks, replicas, self._tasks, self._replicas, self._identity = self._tasks, self._replicas, [], [], None
        for task in tasks:
            task.cancel()
        for replica in replicas:
            self._ray.kill(replica.actor)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, replica: _Replica) -> None:
        """Open a replica, and open it again whenever it has died."""
        try:
            while replica.ends < _MAX_ENDS:
                try:
                    await self._open(replica)
                    last: Exception = await replica.loss
                except self._ray.exceptions.RayError as error:
                    last = error
                replica.ends += 1
                self._notify()
            raise RagbedError(
                f"a worker exited or failed {_MAX_ENDS} times without completing a call: "
                f"{shorten(last).rstrip('.')}. The usual cause is insufficient memory: use fewer {option('replicas')}, "
                "a smaller model or larger nodes. All results so far are stored; rerun the same command to resume."
            )
        except Exception as error:  # callers waiting for responses must receive every error
            self._broken = error if isinstance(error, RagbedError) else RagbedError(f"a worker failed: {error!r}.")
        self._notify()

    async def _open(self, replica: _Replica) -> None:
        """Wait until a replica runs on a node, and open its model.

        Raises:
            RagbedError: The model cannot be opened, or its identity differs from that of the others.
        """
        message = (
            f"a worker is waiting for a node with {self._share.cpus:g} free CPUs and {self._share.gpus:g} free GPUs; "
            f"`ray status` shows the nodes. Add a node, or lower {option('cpus_per_replica')}, "
            f"{option('gpus_per_replica')} or {option('replicas')}."
        )
        timer = asyncio.get_running_loop().call_later(WARN_AFTER_S, self._tell, message)
        try:
            while not await self._is_there(replica):
                await asyncio.sleep(_RETRY_S)
        finally:
            timer.cancel()
        ready = await replica.actor.open.remote()
        if isinstance(ready, RagbedError):
            raise RagbedError(f"a worker reported an error: {ready}")
        if ready.version != __version__:  # its results might differ
            raise RagbedError(
                f"a worker runs ragbed {ready.version}, but this machine runs {__version__}. Install the same version "
                f"on all machines: pip install 'ragbed[ray]=={__version__}'"
            )
        if self._identity and ready.identity and ready.identity != self._identity:  # some models may report none
            raise RagbedError(
                f"the workers run different models: one runs {ready.identity}, another runs {self._identity}. Use the "
                "same model on all nodes."
            )
        replica.room, replica.loss = ready.room, asyncio.Future()
        self._identity = self._identity or ready.identity
        self._notify()

    async def _is_there(self, replica: _Replica) -> bool:
        try:
            return bool(await replica.actor.is_there.remote())
        except self._ray.exceptions.ActorUnavailableError:
            return False
        except self._ray.exceptions.ActorDiedError as error:
            raise RagbedError(
                f"a worker cannot start: {shorten(error)}. ragbed must be installed on every node: pip install "
                f"'ragbed[ray]=={__version__}'. All results so far are stored; rerun the same command to resume."
            ) from None

    async def _wait(self) -> None:
        if self._broken is not None:
            raise self._broken
        self._change.clear()
        await self._change.wait()

    def _notify(self) -> None:
        """Wake waiting calls, and set the concurrency, which is at least 1, so that a case can wait for a restart."""
        self._change.set()
        room = max(1, sum(replica.room for replica in self._replicas))
        fits = room if self._wish.connections is None else min(room, self._wish.connections)
        has_grown, self.concurrency = fits > self.concurrency, fits
        if has_grown:
            self.make_room()


def shorten(error: Exception) -> str:
    """Shorten Ray's message to one line, or replace it if it describes a killed process only as a lost connection.

    If code on the worker raised an exception, return that exception: Ray's message starts with a long traceback.
    """
    cause = getattr(error, "cause", None)
    message = " ".join((f"{type(cause).__name__}: {cause}" if isinstance(cause, Exception) else str(error)).split())
    if "Socket closed" in message or "unavailable" in message or "unexpectedly" in message:
        return "its process was killed, or its node has left the cluster"
    return message[:_MAX_MESSAGE]

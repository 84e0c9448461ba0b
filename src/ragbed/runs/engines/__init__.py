"""Engines that run long tasks on this machine or on a cluster. All engines produce byte-identical results.

To add an engine, write a module with a class that has the methods of `Engine`, and add it to ENGINES.
"""

# ruff: noqa: PLC0415  # Engines are imported on first use because their libraries are slow to load.

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct, field

from ragbed.errors import UnknownName

if TYPE_CHECKING:
    from ragbed.models import ModelConfig
    from ragbed.models.base import Model

Job = TypeVar("Job")
Result = TypeVar("Result")


class ReplicaSpec(Struct, frozen=True):
    """The number of workers on a cluster, and the resources for each."""

    count: int = 1
    cpus: float = 1.0
    gpus: float = 0.0


class Engine(Protocol):
    """An engine for long-running work; only the main process writes files."""

    @property
    def workers(self) -> int:
        """The number of concurrent workers."""

    def spread(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Apply a pure function to jobs and yield the results in order, computing only a few results in advance.

        The function must be at module level, and jobs and results must be picklable.
        """

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """Open the model specified by a model string; limits apply to all of its replicas together."""

    def close(self) -> None:
        """Release all resources."""


class EngineSpec(Struct, frozen=True):
    """The engine chosen by the user, with its options."""

    engine: str = "local"
    # Address of the head node of a Ray cluster, or None for a new cluster.
    cluster: str | None = None
    share: ReplicaSpec = field(default_factory=ReplicaSpec)  # number and resources of each model's replicas
    workers: int | None = None  # number of processes for the local engine
    # Function that is called with each message for the user.
    tell: Callable[[str], None] = field(default=logging.getLogger("ragbed").warning)


def _local(spec: EngineSpec) -> Engine:
    from ragbed.runs.engines.local import LocalEngine

    return LocalEngine(spec.workers)


def _ray(spec: EngineSpec) -> Engine:
    from ragbed.runs.engines.ray import RayEngine

    return RayEngine(spec.cluster, spec.share, spec.tell)


ENGINES: dict[str, Callable[[EngineSpec], Engine]] = {"local": _local, "ray": _ray}


def open_engine(spec: EngineSpec) -> Engine:
    """Open the engine described by a spec.

    Raises:
        UnknownName: There is no engine with that name.
        UsageError: The engine's library is not installed, or the cluster does not exist.
    """
    if spec.engine not in ENGINES:
        raise UnknownName("engine", spec.engine, ENGINES)
    return ENGINES[spec.engine](spec)

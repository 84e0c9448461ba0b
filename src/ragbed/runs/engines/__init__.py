"""Engines that run long tasks on this machine or on a cluster. All engines produce byte-identical results.

To add an engine, write a module with a class that has the methods of `Engine`, and add it to ENGINES.
"""

# ruff: noqa: PLC0415  # Engines are imported on first use because their libraries are slow to load.

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec import Struct, field

from ragbed.errors import UnknownName
from ragbed.runs.engines.base import Engine, ReplicaSpec

__all__ = ["ENGINES", "Engine", "EngineSpec", "ReplicaSpec", "open_engine"]


class EngineSpec(Struct, frozen=True):
    """The engine chosen by the user, with its options."""

    engine: str = "local"
    # Address of a Ray cluster: "auto" for the user's running cluster on this machine, or None for a new one.
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

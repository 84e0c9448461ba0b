"""Where long work is done: one file per engine, chosen by name. The results are the same, to the byte.

To add one: a module with a class that has what `Engine` asks for, and one line in ENGINES.
"""

# ruff: noqa: PLC0415  # an engine is imported when it is asked for: their libraries take time to load

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from ragbed.errors import UnknownName
from ragbed.runs.engines.base import Engine, ReplicaSpec

__all__ = ["ENGINES", "Engine", "EngineSpec", "ReplicaSpec", "open_engine"]


@dataclass(frozen=True)
class EngineSpec:
    """Where work is to be done, as the user asks for it."""

    engine: str = "local"
    cluster: str | None = None
    """The address of a Ray cluster, or auto for this user's cluster on this machine; None: a new cluster."""
    share: ReplicaSpec = field(default_factory=ReplicaSpec)
    """Of the copies of a model."""
    workers: int | None = None
    """Of the local engine: processes."""
    tell: Callable[[str], None] = field(default=logging.getLogger("ragbed").warning)
    """Told what the user should know and the work survives."""


def _local(plan: EngineSpec) -> Engine:
    from ragbed.runs.engines.local import LocalEngine

    return LocalEngine(plan.workers)


def _ray(plan: EngineSpec) -> Engine:
    from ragbed.runs.engines.ray import RayEngine

    return RayEngine(plan.cluster, plan.share, plan.tell)


ENGINES: dict[str, Callable[[EngineSpec], Engine]] = {"local": _local, "ray": _ray}


def open_engine(plan: EngineSpec) -> Engine:
    """The engine that a plan names, ready for work.

    Raises:
        UnknownName: There is none of that name.
        UsageError: Its library is not installed, or there is no cluster where one was named.
    """
    if plan.engine not in ENGINES:
        raise UnknownName("engine", plan.engine, ENGINES)
    return ENGINES[plan.engine](plan)

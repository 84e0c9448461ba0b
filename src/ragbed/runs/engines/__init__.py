"""Engines: the local one distributes long tasks over processes, and Ray runs models on a cluster with equal results."""

# ruff: noqa: PLC0415  # Engines are imported on first use because their libraries are slow to load.

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from ragbed.errors import UnknownName

if TYPE_CHECKING:
    from ragbed.runs.engines.local import LocalEngine

ENGINES = ("local", "ray")
_LOG = logging.getLogger("ragbed")


class ReplicaSpec(Struct, frozen=True):
    """The number of replicas of a model on a cluster, and the resources for each."""

    count: int = 1
    cpus: float = 1.0
    gpus: float = 0.0


def open_engine(
    name: str,
    cluster: str | None = None,
    share: ReplicaSpec | None = None,
    tell: Callable[[str], None] = _LOG.warning,
) -> LocalEngine:
    """Open an engine.

    Args:
        name: The engine's name.
        cluster: The address of the head node of a Ray cluster, or None for a new cluster.
        share: The number and the resources of each model's replicas on the cluster.
        tell: Called with messages for the user.

    Raises:
        UnknownName: There is no engine with that name.
        UsageError: Ray is not installed, or the cluster does not exist.
    """
    if name == "local":
        from ragbed.runs.engines.local import LocalEngine

        return LocalEngine()
    if name == "ray":
        from ragbed.runs.engines.ray import RayEngine

        return RayEngine(cluster, share or ReplicaSpec(), tell)
    raise UnknownName("engine", name, ENGINES)

"""Engines: the local one distributes long tasks over processes, and Ray runs models on a cluster with equal results."""

from __future__ import annotations

from msgspec import Struct


class ReplicaSpec(Struct, frozen=True):
    """The number of replicas of a model on a cluster, and the resources for each."""

    count: int = 1
    cpus: float = 1.0
    gpus: float = 0.0

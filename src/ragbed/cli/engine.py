"""Where long work is done, for every command that has any: its options, and the engine they open."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, cast

import click

from ragbed.cli.options import Decorator, option, together, typed

if TYPE_CHECKING:
    from ragbed.runs.engines import Engine

_KEPT = "ragbed.engine"

engine_options: Decorator = together(
    option("--engine", metavar="NAME", default="local", help="Where the work runs: local, or ray for a Ray cluster."),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        envvar=["RAGBED_CLUSTER", "RAY_ADDRESS"],
        help="Ray cluster to join: HOST:PORT of its head node, or auto for your own cluster on this machine. "
        "Default: a new cluster on this machine that ends with the command (local).",
    ),
)
replica_options: Decorator = together(
    option(
        "--replicas", type=click.IntRange(1), metavar="N", help="Replicas of each model on the cluster. Default: 1."
    ),
    option(
        "--gpus-per-replica", type=click.FloatRange(0), metavar="G", help="GPUs that each replica needs. Default: 0."
    ),
    option(
        "--cpus-per-replica", type=click.FloatRange(0), metavar="C", help="CPUs that each replica needs. Default: 1."
    ),
)


class EngineOptions(TypedDict):
    """The options of `engine_options`, as typed."""

    engine: str
    cluster: str | None


class ReplicaOptions(EngineOptions):
    """With those of `replica_options`."""

    replicas: int | None
    gpus_per_replica: float | None
    cpus_per_replica: float | None


def open_chosen(chosen: EngineOptions | ReplicaOptions) -> Engine:
    """The engine of this command, which ends with it."""
    from ragbed.cli.console import say
    from ragbed.errors import UsageError
    from ragbed.runs.engines import EngineSpec, ReplicaSpec, open_engine

    kept = click.get_current_context().meta
    if _KEPT not in kept:
        names = ("replicas", "gpus_per_replica", "cpus_per_replica")
        wanted = {name: chosen[name] for name in names if chosen.get(name) is not None}  # type: ignore[literal-required]
        named = [f"--{name.replace('_', '-')}" for name in wanted] + typed(click.get_current_context(), "cluster")
        if chosen["engine"] == "local" and named:
            raise UsageError(f"{named[0]} is for a cluster; add --engine ray, or leave it away.")
        share = ReplicaSpec(
            wanted.get("replicas", 1), wanted.get("cpus_per_replica", 1.0), wanted.get("gpus_per_replica", 0.0)
        )
        engine = kept[_KEPT] = open_engine(EngineSpec(chosen["engine"], chosen["cluster"], share, tell=say))
        click.get_current_context().call_on_close(engine.close)
    return cast("Engine", kept[_KEPT])

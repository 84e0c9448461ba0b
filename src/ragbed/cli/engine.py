"""Where long work is done, for every command that has any: its options, and the engine they open."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from ragbed.api.calling import CallOptions, EngineOptions
from ragbed.cli.options import Decorator, option, together, typed

if TYPE_CHECKING:
    from ragbed.runs.engines import Engine

__all__ = ["EngineOptions", "engine_options", "open_chosen", "replica_options"]

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


def open_chosen(chosen: EngineOptions | CallOptions) -> Engine:
    """The engine of this command, which ends with it."""
    from ragbed.api import calling
    from ragbed.cli.console import say
    from ragbed.errors import UsageError

    context = click.get_current_context()
    if _KEPT not in context.meta:
        if chosen["engine"] == "local" and typed(context, "cluster"):
            raise UsageError("--cluster is for a cluster; add --engine ray, or leave it away.")
        engine = context.meta[_KEPT] = calling.open_engine(chosen, say)
        context.call_on_close(engine.close)
    return cast("Engine", context.meta[_KEPT])

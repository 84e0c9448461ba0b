"""Options that choose where the work runs."""

from __future__ import annotations

import click

from ragbed.cli.options import Decorator, option, together

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

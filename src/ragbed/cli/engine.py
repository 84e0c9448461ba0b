"""Options that select and configure the execution engine."""

from __future__ import annotations

import click

from ragbed.cli.help_groups import DISTRIBUTED
from ragbed.cli.options import Decorator, option, together

engine_options: Decorator = together(
    option(
        "--engine",
        metavar="NAME",
        default="local",
        group=DISTRIBUTED,
        help="Execution engine: local (this machine) or ray (a Ray cluster).",
    ),
    option(
        "--cluster",
        metavar="ADDRESS",
        envvar=["RAGBED_CLUSTER", "RAY_ADDRESS"],
        show_default="a new local cluster that stops when the command exits",
        group=DISTRIBUTED,
        help="Ray cluster to join: HOST:PORT of its head node.",
    ),
)
replica_options: Decorator = together(
    option(
        "--replicas",
        type=click.IntRange(1),
        show_default="1",
        group=DISTRIBUTED,
        help="Number of replicas of each model on the cluster.",
    ),
    option(
        "--gpus-per-replica",
        type=click.FloatRange(0),
        show_default="0",
        group=DISTRIBUTED,
        help="Number of GPUs per replica.",
    ),
    option(
        "--cpus-per-replica",
        type=click.FloatRange(0),
        show_default="1",
        group=DISTRIBUTED,
        help="Number of CPUs per replica.",
    ),
)

"""Options that determine where the work runs."""

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
        help="Where the work runs: local (this machine) or ray (a Ray cluster).",
    ),
    option(
        "--cluster",
        metavar="ADDRESS",
        envvar=["RAGBED_CLUSTER", "RAY_ADDRESS"],
        show_default="local, a new cluster on this machine that ends with the command",
        group=DISTRIBUTED,
        help="Ray cluster to join: HOST:PORT of its head node, or auto for your own cluster on this machine.",
    ),
)
replica_options: Decorator = together(
    option(
        "--replicas",
        type=click.IntRange(1),
        show_default="1",
        group=DISTRIBUTED,
        help="Replicas of each model on the cluster.",
    ),
    option(
        "--gpus-per-replica",
        type=click.FloatRange(0),
        show_default="0",
        group=DISTRIBUTED,
        help="GPUs for each replica.",
    ),
    option(
        "--cpus-per-replica",
        type=click.FloatRange(0),
        show_default="1",
        group=DISTRIBUTED,
        help="CPUs for each replica.",
    ),
)

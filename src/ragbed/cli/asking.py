"""Options of every command that calls models."""

from __future__ import annotations

import click

from ragbed.cli.engine import engine_options, replica_options
from ragbed.cli.help_groups import REQUESTS
from ragbed.cli.options import Decorator, option, together

asking_options: Decorator = together(
    option(
        "--max-connections",
        type=click.IntRange(1, 4_096),
        show_default="adaptive, up to 64",
        group=REQUESTS,
        help="Maximum concurrent requests.",
    ),
    option("--rpm", type=click.IntRange(1), group=REQUESTS, help="Maximum requests per minute."),
    option("--tpm", type=click.IntRange(1), group=REQUESTS, help="Maximum tokens per minute."),
    option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=120.0,
        metavar="SECONDS",
        group=REQUESTS,
        help="Timeout of one request, in seconds.",
    ),
    option(
        "--budget",
        type=click.FloatRange(0, min_open=True),
        metavar="DOLLARS",
        group=REQUESTS,
        help="Stop when this amount is spent.",
    ),
    option("--no-cache", is_flag=True, group=REQUESTS, help="Ignore cached responses."),
    engine_options,
    replica_options,
)

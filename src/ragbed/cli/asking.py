"""Options of every command that calls models."""

from __future__ import annotations

import click

from ragbed.cli.engine import engine_options, replica_options
from ragbed.cli.options import Decorator, option, together

asking_options: Decorator = together(
    option(
        "--max-connections",
        type=click.IntRange(1, 4_096),
        help="Maximum concurrent requests. [default: adaptive, up to 64]",
    ),
    option("--rpm", type=click.IntRange(1), help="Maximum requests per minute."),
    option("--tpm", type=click.IntRange(1), help="Maximum tokens per minute."),
    option(
        "--timeout", type=click.FloatRange(0, min_open=True), default=120.0, help="Timeout of one request, in seconds."
    ),
    option(
        "--budget", type=click.FloatRange(0, min_open=True), metavar="DOLLARS", help="Stop when this amount is spent."
    ),
    option("--no-cache", is_flag=True, help="Ignore cached responses."),
    engine_options,
    replica_options,
)

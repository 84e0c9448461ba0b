"""Options of every command that calls models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.api.calling import CallOptions as AskingOptions
from ragbed.api.calling import check_reader, open_reader
from ragbed.api.calling import open_model as open_asked
from ragbed.cli.engine import engine_options, replica_options
from ragbed.cli.options import Decorator, option, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragbed.runs.budget import Budget

__all__ = ["AskingOptions", "asking_options", "check_reader", "open_asked", "open_reader", "read_budget"]

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


def read_budget(models: Sequence[str], chosen: AskingOptions) -> Budget | None:
    """Return the budget, if one is set; every model then needs a price."""
    from ragbed.api import calling

    return calling.read_budget(models, chosen["budget"])

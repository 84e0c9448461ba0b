"""Options shared by all commands that call models."""

from __future__ import annotations

import click

from ragbed.cli.engine import engine_options, replica_options
from ragbed.cli.help_groups import REQUESTS, SAMPLING
from ragbed.cli.options import Decorator, option, together

asking_options: Decorator = together(
    option(
        "--max-connections",
        type=click.IntRange(1, 4_096),
        show_default="adaptive, up to 64",
        group=REQUESTS,
        help="Maximum number of concurrent requests.",
    ),
    option("--rpm", type=click.IntRange(1), group=REQUESTS, help="Maximum number of requests per minute."),
    option("--tpm", type=click.IntRange(1), group=REQUESTS, help="Maximum number of tokens per minute."),
    option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=120.0,
        metavar="SECONDS",
        group=REQUESTS,
        help="Timeout for each request, in seconds.",
    ),
    option(
        "--budget",
        type=click.FloatRange(0, min_open=True),
        metavar="DOLLARS",
        group=REQUESTS,
        help="Maximum cost in US dollars; no request is sent that could exceed it.",
    ),
    option(
        "--price",
        multiple=True,
        metavar="[MODEL=]IN,OUT",
        group=REQUESTS,
        help="Price in US dollars per million input and output tokens, e.g. 0.15,0.6. Repeatable.",
    ),
    option(
        "--max-calls", type=click.IntRange(1), metavar="N", group=REQUESTS, help="Maximum number of requests to send."
    ),
    option(
        "--cache",
        type=click.Choice(["auto", "reuse", "off"]),
        default="auto",
        group=REQUESTS,
        help="Reuse cached responses; auto excludes other runs' responses from models without an identity.",
    ),
    option(
        "--temperature",
        metavar="N|none",
        group=SAMPLING,
        help="Sampling temperature, usually 0 by default; 'none' omits it from the requests.",
    ),
    option(
        "--reasoning-effort",
        metavar="LEVEL",
        group=SAMPLING,
        help="Reasoning effort, e.g. none, low, medium or high.",
    ),
    option(
        "--thinking",
        metavar="on|off|budget=N",
        group=SAMPLING,
        help="Turn thinking on or off, or set a thinking budget in tokens.",
    ),
    option(
        "--extra-body",
        metavar="JSON",
        group=SAMPLING,
        help="Additional fields for the request body, e.g. '{\"top_k\": 20}'.",
    ),
    option(
        "--header",
        multiple=True,
        metavar="NAME:VALUE",
        group=SAMPLING,
        help="Additional request header. Repeatable.",
    ),
    option("--seed-model", type=int, metavar="N", group=SAMPLING, help="Sampling seed to send to the model."),
    engine_options,
    replica_options,
)

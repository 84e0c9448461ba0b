"""`ragbed score`: the scores of runs, again, from what is stored."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options


@click.command()
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN...")
@options.option(
    "--track",
    type=click.Choice(["robust", "code", "paper"]),
    help="Whose scores are printed. Default: the first there are.",
)
@options.json_option
def score(runs: tuple[Path, ...], track: str | None, json: bool) -> None:
    """Score runs again from what is stored; nobody is asked.

    Every number comes with its 95 % interval where it has one, with how many trials or questions it rests on (n), how
    many were asked, how many of those failed and how many cases could not be laid out. Rates are over all that was
    asked. --json tells every metric of every track; docs/statistics.md says what they mean.

    \b
    Examples:
      ragbed score runs/qwen
      ragbed score runs/qwen runs/llama --track code
      ragbed score runs/qwen --json > cells.json
    """
    from ragbed.cli.console import print_json
    from ragbed.cli.measures import measure_runs, print_measures

    cells = measure_runs(runs)
    print_measures(cells, track, to_stderr=json)
    if json:
        print_json({"cells": [cell.as_json() for cell in cells]})

"""`ragbed score`: the scores of runs, again, from what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options
from ragbed.cli.engine import EngineOptions, engine_options, open_chosen
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.io.locations import Place
    from ragbed.runs.engines import Engine
    from ragbed.scoring.disagreements import TrackDisagreement

_SHOWN = 20
"""Disagreements that are listed of each kind; --json has them all."""


@click.command()
@click.argument("runs", type=options.LocalPath(), nargs=-1, required=True, metavar="RUN...")
@options.option(
    "--disagreements",
    type=click.Choice(["code", "paper"]),
    metavar="TRACK",
    help="List the replies that this track (code or paper) and the robust one see differently.",
)
@options.option(
    "--sums",
    type=options.to_place,
    metavar="FILE",
    help="Write what the runs come to, for `ragbed report` and `merge`, instead of the tables.",
)
@engine_options
@options.json_option
def score(
    runs: tuple[Path, ...], disagreements: str | None, sums: Place | None, json: bool, **chosen: Unpack[EngineOptions]
) -> None:
    """Score runs again from what is stored; nobody is asked.

    Three tracks: code (what the original code counts, to the letter), paper (what the paper says) and robust
    (what a careful reader would count). A reply that the first counts and the last does not is false credit; the
    reverse is missed credit.

    --sums writes equal questions once, with how many there are: some megabytes for any number of trials, from which
    `ragbed report` makes the tables that it makes of the runs (docs/how-to/cluster.md). It may go to an address, as s3://….

    \b
    Examples:
      ragbed score runs/qwen
      ragbed score runs/qwen --disagreements code
      ragbed score runs/qwen --disagreements paper --json
      ragbed score runs/part-7 --sums sums/part-7.jsonl --engine ray
    """
    from ragbed.cli.console import print_json
    from ragbed.cli.results import print_cells, read_cells

    if sums is not None:
        _write_sums(runs, sums, disagreements, open_chosen(chosen), to_json=json)
        return
    cells = [cell for run in runs for cell in read_cells(run, open_chosen(chosen))]
    print_cells(cells, runs, to_stderr=json)
    told: dict[str, object] = {"cells": [cell.as_json() for cell in cells]}
    if disagreements:
        found = [one for run in runs for one in _disagreements(run, disagreements)]
        _print(found, disagreements, to_stderr=json)
        told["disagreements"] = found
    if json:
        print_json(told)


def _write_sums(
    runs: tuple[Path, ...], place: Place, disagreements: str | None, engine: Engine, *, to_json: bool
) -> None:
    from ragbed.analysis.partial_sum_files import Sums, sum_run, write_sums
    from ragbed.cli.console import print_json, say

    if disagreements:
        raise UsageError("--disagreements lists replies, which sums do not hold; type them apart.")
    sums = Sums()
    for run in dict.fromkeys(runs):
        sums.add(sum_run(run, engine))
    say(f"{write_sums(sums, place)} written to {place}.")
    if to_json:
        print_json({"trials": sums.trials, "questions": sums.questions, "sums": str(place)})


def _disagreements(run: Path, track: str) -> list[TrackDisagreement]:
    from ragbed.runs.store import open_store
    from ragbed.scoring.disagreements import find_disagreements

    with open_store(run, create=False) as store:
        replies = (
            (result.model, result.case, result.completion.reply or "")
            for result in store.results()
            if result.completion.outcome == "ok"
        )
        return list(find_disagreements(replies, track))


def _print(found: list[TrackDisagreement], track: str, *, to_stderr: bool) -> None:
    from ragbed.cli.console import console, print_table
    from ragbed.text import printable

    for credit in ("false", "missed"):
        some = [one for one in found if one.credit == credit]
        rows = [(one.case, one.model, one.score, one.verdict, _brief(one.reply)) for one in some[:_SHOWN]]
        title = f"{credit.capitalize()} credit of the {track} track: {len(some):,}"
        if rows:
            print_table(title, ("case", "model", "score", "robust verdict", "reply"), rows, to_stderr=to_stderr)
        else:
            console(to_stderr=to_stderr).print(printable(f"{title}."))
        if len(some) > _SHOWN:
            console(to_stderr=to_stderr).print(f"… and {len(some) - _SHOWN:,} more; --json lists all.")


def _brief(reply: str) -> str:
    line = " ".join(reply.split())
    return line if len(line) <= 80 else line[:79] + "…"

"""`ragbed score`: rescore stored responses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.console import console, print_json, print_table, say
from ragbed.cli.engine import engine_options
from ragbed.cli.keywords import call_keywords
from ragbed.text import printable

if TYPE_CHECKING:
    from ragbed.api.spec import EngineKeywords
    from ragbed.scoring.disagreements import TrackDisagreement

_SHOWN = 20  # Maximum number of disagreements of each kind to print; --json contains all of them.


@help_groups.command()
@click.argument("runs", type=options.LocalPath(), nargs=-1, required=True, metavar="RUN...")
@options.option(
    "--disagreements",
    type=click.Choice(["code", "paper"]),
    metavar="TRACK",
    help="List the responses that this track (code or paper) scores differently from the robust track.",
)
@options.option(
    "--aggregates",
    type=options.FileName(),
    metavar="FILE",
    help="File or URL to write the runs' aggregates to, for `ragbed report` and `ragbed merge`.",
)
@engine_options
@options.json_option
def score(
    runs: tuple[Path, ...],
    disagreements: Literal["code", "paper"] | None,
    aggregates: str | None,
    json: bool,
    **chosen: Unpack[EngineKeywords],
) -> None:
    """Rescore stored responses without calling a model.

    The tracks are code (the original code's scoring, including its bugs), paper (the paper's definitions) and
    robust (the judgement of a careful reader). False credit means that code or paper counts a response as correct but
    robust does not; missed credit is the reverse.

    --aggregates writes a file of a few megabytes instead of printing tables; `ragbed report` creates the same tables
    from it.

    \b
    Examples:
      ragbed score runs/qwen
      ragbed score runs/qwen --disagreements code
      ragbed score runs/qwen --disagreements paper --json
      ragbed score runs/part-7 --aggregates aggregates/part-7.jsonl --engine ray
    """
    from ragbed.api import analysis
    from ragbed.cli.console_progress import ConsoleProgress
    from ragbed.cli.results import print_cells

    with ConsoleProgress() as progress:
        result = analysis.score(
            runs, disagreements=disagreements, aggregates=aggregates, progress=progress, **call_keywords(chosen)
        )
    if result.aggregates is not None:
        say(f"{result.aggregates.description} written to {result.aggregates.place}.")
        if json:
            file = result.aggregates
            print_json({"trials": file.trials, "questions": file.questions, "aggregates": file.place})
        return
    print_cells(result.conditions, runs, to_stderr=json)
    summary: dict[str, object] = {"cells": [cell.as_json() for cell in result.conditions]}
    if result.disagreements is not None:
        _print(result.disagreements, str(disagreements), to_stderr=json)
        summary["disagreements"] = result.disagreements
    if json:
        print_json(summary)


def _print(found: Sequence[TrackDisagreement], track: str, *, to_stderr: bool) -> None:
    for credit in ("false", "missed"):
        some = [case for case in found if case.credit == credit]
        rows = [(case.case, case.model, case.score, case.verdict, _brief(case.reply)) for case in some[:_SHOWN]]
        title = f"{credit.capitalize()} credit of the {track} track: {len(some):,}"
        if rows:
            print_table(title, ("case", "model", "score", "robust verdict", "reply"), rows, to_stderr=to_stderr)
        else:
            console(to_stderr=to_stderr).print(printable(f"{title}."))
        if len(some) > _SHOWN:
            console(to_stderr=to_stderr).print(f"… and {len(some) - _SHOWN:,} more (--json lists all of them)")


def _brief(reply: str) -> str:
    line = " ".join(reply.split())
    return line if len(line) <= 80 else line[:79] + "…"

"""`ragbed report`: write tables, figures and a summary of runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import click

from ragbed.api.specification import Opt
from ragbed.cli.console import console, print_json, print_table, say
from ragbed.cli.options import command
from ragbed.errors import UsageError
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from ragbed.api.job_specs import ReportSpec
    from ragbed.reporting.tables import Report

_MOST_DISAGREEMENTS = 20  # Maximum number of disagreements of each kind to print; -f json lists all of them.
_LONGEST_REPLY = 80  # Maximum number of characters of a response to print.


@command()
def report(
    spec: ReportSpec,
    *,
    disagreements: Annotated[
        Literal["code", "paper"] | None,
        Opt(
            "Instead of the tables, list the responses that this scorer scores differently from the robust scorer. "
            "Formats: text and json."
        ),
    ] = None,
) -> None:
    """Write tables, figures and a summary for one or more runs.

    A folder stands for all runs in it. No model is called. The verdicts are those with which a run was first scored,
    unless --rescore is given.

    Every rate is a share of all attempted cases, including errors, with n and a 95% interval clustered by question; *
    marks n below 30.
    † marks rows that are comparable with the paper (all questions of the same files, same documents and scoring); the
    paper's rows are shown beside them. CSV and JSON contain every cell, one per line. The formats svg, png and pdf
    write only the figures; html writes everything, including the cases, to one file; site writes a leaderboard of all
    models, with an HTML report on each run, to a folder. The pages work offline and on any web server.

    \b
    Examples:
      ragbed report runs/qwen
      ragbed report runs/qwen -f md --scorer code
      ragbed report runs/* -f csv -o cells.csv
      ragbed report runs/qwen -f html -o report.html
      ragbed report runs/qwen -f pdf -o figures --locale zh
      ragbed report runs -f site -o site
      ragbed report runs/qwen --disagreements code
    """
    from ragbed.api import reports

    if disagreements is not None:
        _list_disagreements(spec, disagreements)
        return
    result = reports.report.start(spec)
    for message in result.scoring:
        say(message)
    if spec.locale not in (None, "en") and result.text is not None:
        say("--locale applies only to HTML reports and figures. All other reports are in English.")
    if spec.format == "html":
        (page,) = result.paths
        say(f"Report written to {page} ({page.stat().st_size / 1e6:.1f} MB). Open it in a browser.")
    elif spec.format == "site":
        say(f"Leaderboard of {counted(len(result.paths) - 1, 'run')} written to {result.paths[0]}.")
    elif result.text is None:
        say(f"{counted(len(result.paths), 'figure')} written to {spec.out}.")
    elif result.paths:
        say(f"Report written to {spec.out}.")
    elif spec.format == "text":
        print_report(result.reports[0])
    else:
        click.echo(result.text, nl=False)


def _list_disagreements(spec: ReportSpec, scorer: Literal["code", "paper"]) -> None:
    """List the responses that a scorer scores differently from the robust scorer.

    False credit means that only the scorer gives credit; missed credit means that only the robust scorer does.
    """
    from ragbed.api.places import run_folder, several
    from ragbed.api.results import Run
    from ragbed.reporting.table import Table
    from ragbed.ui.viewer.find_runs import runs_in

    if spec.format not in ("text", "json") or spec.out is not None:
        raise UsageError(
            "--disagreements writes text or JSON to standard output. Use -f text or -f json, without --out."
        )
    folders = runs_in([run_folder(run) for run in several(spec.runs)])
    found = [{"run": str(folder), **row} for folder in folders for row in Run(folder).disagreements(scorer)]
    if spec.format == "json":
        print_json(found)
        return
    for credit in ("false", "missed"):
        some = [row for row in found if row["credit"] == credit]
        title = f"{credit.capitalize()} credit of the {scorer} scorer: {len(some):,}"
        names = {"case": "case", "model": "model", "score": "score", "verdict": "robust verdict"}
        rows = [
            {heading: row[name] for name, heading in names.items()} | {"reply": _brief(row["reply"])}
            for row in some[:_MOST_DISAGREEMENTS]
        ]
        if rows:
            print_table(Table(rows, title))
        else:
            click.echo(f"{title}.")
        if len(some) > _MOST_DISAGREEMENTS:
            click.echo(f"… and {len(some) - _MOST_DISAGREEMENTS:,} more (-f json lists all of them)")


def _brief(reply: str) -> str:
    line = " ".join(reply.split())
    return line if len(line) <= _LONGEST_REPLY else line[: _LONGEST_REPLY - 1] + "…"


def print_report(report: Report, only: tuple[str, ...] = ("",), *, to_stderr: bool = False) -> None:
    """Print a report, or only the tables whose names start with one of the given texts and their notes."""
    from ragbed.analysis.locale import read_words
    from ragbed.reporting.formats import arrange
    from ragbed.reporting.table import Table

    is_whole, notes, out = only == ("",), [f"Scorer: {report.scorer}."], console(to_stderr=to_stderr)
    chosen = replace(report, tables=tuple(table for table in report.tables if table.name.startswith(only)))
    parts = [*arrange(chosen, read_words("en"))]
    tables = [part for part in parts if isinstance(part, Table)]
    for part in parts:
        if isinstance(part, Table):
            print_table(part, to_stderr=to_stderr)
            if part is not tables[-1]:
                click.echo(err=to_stderr)
            notes += part.notes
        elif part.is_note:
            notes.append(part.text)
        elif is_whole:
            text = printable(": ".join(filter(None, (part.lead, part.text))))
            out.print(text, end="\n\n", soft_wrap=not out.is_terminal)  # do not wrap lines that are written to a pipe
    say(" ".join(notes[:2]))
    for note in notes[2:]:
        say(note)
    if is_whole and report.errors:
        say("`ragbed diagnose RUN --show TYPE` and -f html show examples.")

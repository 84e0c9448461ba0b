"""`ragbed report`: write tables, figures and a summary of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import click

from ragbed.api.specification import Opt
from ragbed.cli.console import console, print_json, print_table, say
from ragbed.cli.options import command
from ragbed.errors import UsageError
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from ragbed.analysis.locale import Locale
    from ragbed.api.job_specs import ReportSpec
    from ragbed.reporting.tables import Report, ReportTable
    from ragbed.runs.decided import DecidedInterval

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
      ragbed report runs/qwen runs/llama -f latex -o tables.tex
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
        _print(result.reports[0])
    else:
        click.echo(result.text, nl=False)


def _list_disagreements(spec: ReportSpec, scorer: Literal["code", "paper"]) -> None:
    """List the responses that a scorer scores differently from the robust scorer.

    False credit means that only the scorer gives credit; missed credit means that only the robust scorer does.
    """
    from ragbed.api.places import run_folder, several
    from ragbed.api.results import Run
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
        rows = [
            (row["case"], row["model"], row["score"], row["verdict"], _brief(row["reply"]))
            for row in some[:_MOST_DISAGREEMENTS]
        ]
        if rows:
            print_table(title, ("case", "model", "score", "robust verdict", "reply"), rows)
        else:
            click.echo(f"{title}.")
        if len(some) > _MOST_DISAGREEMENTS:
            click.echo(f"… and {len(some) - _MOST_DISAGREEMENTS:,} more (-f json lists all of them)")


def _brief(reply: str) -> str:
    line = " ".join(reply.split())
    return line if len(line) <= _LONGEST_REPLY else line[: _LONGEST_REPLY - 1] + "…"


def _print(report: Report) -> None:
    from ragbed.analysis.locale import read_words

    words = read_words("en")
    for note in report.notes(words):
        click.echo(printable(note) + "\n")
    if report.is_monitored:
        say(words("page.monitored"))
        print_conditions(report.conditions, report.names)
    _print_summary(report, words)
    print_tables(report.tables)
    say_notes(report)
    _print_errors(report, words)


def say_notes(report: Report) -> None:
    """Explain the numbers in a report's tables."""
    from ragbed.analysis.locale import read_words

    words = read_words("en")
    say(f"Scorer: {report.scorer}. {words('page.rates')}")
    for note in report.table_notes:
        say(words(f"page.{note}"))


def print_conditions(
    conditions: Sequence[DecidedInterval], names: Mapping[str, str], *, to_stderr: bool = False
) -> None:
    """Print the outcomes of the stopping conditions, if any were set (see `tell_decisions`)."""
    if not conditions:
        return
    from ragbed.analysis.locale import read_words
    from ragbed.reporting.decision_texts import decision_columns, tell_decisions

    words = read_words("en")
    rows = tell_decisions(conditions, names, words)
    print_table(words("decisions.heading"), decision_columns(words), rows, to_stderr=to_stderr)


def _print_errors(report: Report, words: Locale) -> None:
    from ragbed.reporting.error_texts import COUNT_COLUMNS, error_columns, tell_errors

    if report.errors:
        columns = error_columns(words)[:COUNT_COLUMNS]  # omit the examples, which do not fit in a terminal
        rows = [row[:COUNT_COLUMNS] for row in tell_errors(report.errors, words)]
        print_table("\nError types by the paper's table (a wrong answer can have several types)", columns, rows)
        say("`ragbed diagnose RUN --show TYPE` and -f html show examples.")


def _print_summary(report: Report, words: Locale) -> None:
    from ragbed.reporting.summary import summarise

    out = console()
    for summary in summarise(report.shown, report.scorer, words):
        text = printable(f"{summary.model}{f' ({summary.lang})' if summary.lang else ''}: {summary.text}")
        out.print(text, end="\n\n", soft_wrap=not out.is_terminal)  # do not wrap lines that are written to a pipe


def print_tables(tables: Sequence[ReportTable], *, to_stderr: bool = False) -> None:
    """Print a report's tables."""
    from ragbed.reporting.numbers import show, show_asked

    for number, table in enumerate(tables):
        columns = ("model", "data", "lang", "documents", "n", *(column.heading for column in table.columns))
        rows = [
            (
                row.key.model,
                row.data,
                row.key.lang,
                "–" if row.docs is None else row.docs,
                show_asked(row.counts),
                *(show(cell, column) for cell, column in zip(row.cells, table.columns, strict=True)),
            )
            for row in table.rows
        ]
        print_table(f"\n{table.title}" if number else table.title, columns, rows, to_stderr=to_stderr)

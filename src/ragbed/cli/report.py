"""`ragbed report`: write tables, figures and a summary of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.console import console, print_table, say
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from ragbed.analysis.locale import Locale
    from ragbed.api.reports import ReportFormat
    from ragbed.reporting.tables import Report, ReportTable
    from ragbed.runs.decided import DecidedInterval
    from ragbed.schema import Lang

_MOST_EVIDENCE = 2  # Maximum number of rows to print per claim.


@click.command()
@click.argument("runs", nargs=-1, required=True, type=options.FileName(), metavar="RUN...|AGGREGATES...")
@options.option(
    "--format",
    "-f",
    "format_",
    type=click.Choice(["text", "md", "html", "latex", "csv", "json", "svg", "png", "pdf"]),
    default="text",
    help="Report format.",
)
@options.track_option("Scoring track shown in the tables (csv and json include all tracks)")
@options.option(
    "--out",
    "-o",
    type=options.LocalPath(),
    metavar="FILE",
    show_default="stdout, or report.html for html",
    help="File to write to, or folder for figures. Text reports are written as Markdown.",
)
@options.option(
    "--locale",
    type=click.Choice(["en", "zh"]),
    show_default="en for figures, the browser's language for html",
    help="Language of headings and labels in the figures and the HTML page.",
)
def report(runs: tuple[str, ...], format_: ReportFormat, track: str, out: Path | None, locale: Lang | None) -> None:
    """Write tables, figures and a summary for one or more runs.

    A folder stands for all runs in it.

    Every rate is a share of all attempted cases, including errors, with n and a 95% interval clustered by question; *
    marks n below 30.
    LaTeX tables show the paper's rows above yours. † marks rows that are comparable with the paper (same files,
    documents and scoring). CSV and JSON contain every cell, one per line. The paper's claims C1 to C10 are checked
    against the runs: supported, contradicted, inconclusive, or not enough data. The formats svg,
    png and pdf write only the figures; html writes everything, including the cases, to one file. Aggregate files
    (`ragbed score --aggregates`) can be used instead of runs; they contain neither cases nor individual questions.

    \b
    Examples:
      ragbed report runs/qwen
      ragbed report runs/qwen runs/llama -f latex -o tables.tex
      ragbed report runs/qwen -f md --track code
      ragbed report runs/* -f csv -o cells.csv
      ragbed report runs/qwen -f html -o report.html
      ragbed report runs/qwen -f pdf -o figures --locale zh
      ragbed report s3://bucket/aggregates-1.jsonl s3://bucket/aggregates-2.jsonl -f md
    """
    from ragbed.api import reports

    result = reports.report(runs, format=format_, track=track, out=out, locale=locale)
    if not result.has_cases:
        say(
            "Aggregate files contain only counts of equal results, so paired comparisons, judgements, error types, "
            "confidences, prompt lengths and costs are not included."
        )
    if locale not in (None, "en") and result.text is not None:
        say("--locale applies only to HTML reports and figures. All other reports are in English.")
    if format_ == "html":
        (page,) = result.paths
        say(f"Report written to {page} ({page.stat().st_size / 1e6:.1f} MB). Open it in a browser.")
    elif result.text is None:
        say(f"{counted(len(result.paths), 'figure')} written to {out}.")
    elif result.paths:
        say(f"Report written to {out}.")
    elif format_ == "text":
        _print(result.report)
        if result.report.findings and result.has_cases:
            say("For all evidence, use -f html.")
    else:
        click.echo(result.text, nl=False)


def _print(report: Report) -> None:
    from ragbed.analysis.locale import read_words

    words = read_words("en")
    for note in report.notes(words):
        click.echo(printable(note) + "\n")
    if report.is_monitored:
        say(words("page.monitored"))
        print_conditions(report.conditions, report.names, report.scorer)
    _print_summary(report, words)
    print_tables(report.tables)
    say_notes(report)
    _print_errors(report, words)
    _print_claims(report, words)


def say_notes(report: Report) -> None:
    """Explain the numbers in a report's tables."""
    from ragbed.analysis.locale import read_words

    words = read_words("en")
    say(f"Scoring track: {report.track}. {words('page.rates')}")
    for note in report.table_notes:
        say(words(f"page.{note}"))


def print_conditions(
    conditions: Sequence[DecidedInterval],
    names: Mapping[str, str],
    scorer: str | None = None,
    *,
    to_stderr: bool = False,
) -> None:
    """Print the outcomes of the stopping conditions, if any were set (see `tell_decisions`)."""
    if not conditions:
        return
    from ragbed.analysis.locale import read_words
    from ragbed.reporting.decision_texts import decision_columns, tell_decisions

    words = read_words("en")
    rows = tell_decisions(conditions, names, words, scorer)
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
    for summary in summarise(report.shown, report.track, words):
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


def _print_claims(report: Report, words: Locale) -> None:
    from ragbed.reporting.claim_texts import (
        evidence_columns,
        most_telling,
        split_findings,
        tell_claims,
        tell_evidence,
        tell_finding,
    )

    decided, unclear, missing = split_findings(report.findings)
    verdicts = [
        (f"{claim} {text}", verdict) for claim, text, verdict, _ in (tell_finding(one, words) for one in decided)
    ]
    if verdicts:
        print_table(f"\n{words('claims.heading')}", ("claim", "verdict"), verdicts)
    rows = [
        tell_evidence(finding.claim, one, words) for finding in decided for one in most_telling(finding, _MOST_EVIDENCE)
    ]
    if rows:
        print_table("\nEvidence, strongest first", evidence_columns(words), rows)
    for line in (tell_claims("unclear", unclear, words), tell_claims("missing", missing, words)):
        if line:
            say(line)

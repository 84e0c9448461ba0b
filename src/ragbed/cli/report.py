"""`ragbed report`: the tables of runs, to be read, pasted or computed with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.io.locations import Place
    from ragbed.reporting.tables import Report, ReportTable
    from ragbed.schema import Lang

_MOST_EVIDENCE = 2
"""Rows of a claim that the terminal shows."""


@click.command()
@click.argument("runs", type=options.to_place, nargs=-1, required=True, metavar="RUN...|SUMS...")
@options.option(
    "--format",
    "-f",
    "format_",
    type=click.Choice(["text", "md", "html", "latex", "csv", "json", "svg", "png", "pdf"]),
    default="text",
    help="As which they are written.",
)
@options.track_option("Whose verdicts the tables show; csv and json have all of ragbed's own.")
@options.option(
    "--out",
    "-o",
    type=options.LocalPath(),
    metavar="FILE",
    help="Default: the terminal; for html, report.html. Text goes to a file as Markdown; figures go into a folder.",
)
@options.option(
    "--words",
    type=click.Choice(["en", "zh"]),
    help="Language of figures [default: en], and in which html opens [default: that of the browser].",
)
def report(runs: tuple[Place, ...], format_: str, track: str, out: Path | None, words: Lang | None) -> None:
    """Write the tables of one or more runs; a folder stands for all runs in it.

    Every rate is of what was asked, failures included, with a 95 % interval by question and the number of cases; *
    marks fewer than 30. LaTeX has the paper's rows above ours. † marks rows that are comparable with the paper:
    the same files, layout and way of counting. CSV and JSON contain every cell, one per line. The paper's claims C1 to
    C10 are checked against the runs: supported, contradicted, inconclusive, or not enough data. svg, png and pdf write
    the figures. html writes everything, including the cases, as one file that opens by double-click. Sums
    (`ragbed score --sums`) stand for runs of any size; they hold no cases, and no question by name.

    \b
    Examples:
      ragbed report runs/qwen
      ragbed report runs/qwen runs/llama -f latex -o tables.tex
      ragbed report runs/qwen -f md --track code
      ragbed report runs/* -f csv -o cells.csv
      ragbed report runs/qwen -f html -o report.html
      ragbed report runs/qwen -f pdf -o figures --words zh
      ragbed report s3://bucket/sums-1.jsonl s3://bucket/sums-2.jsonl -f md
    """
    from ragbed.cli.console import say
    from ragbed.cli.paged import read_report, write_report_page
    from ragbed.cli.sums import tell_apart
    from ragbed.io.jsonl import write_whole
    from ragbed.reporting.formats import FORMATS
    from ragbed.reporting.pages.images import PICTURES
    from ragbed.ui.viewer.find_runs import runs_in

    named, files = tell_apart(runs)
    folders = runs_in(named)
    if files and format_ == "html":
        raise UsageError("html holds the cases, which sums do not have; use text, md, latex, csv, json or figures.")
    made = _read_sums(files, track) if files else read_report(folders, [str(run) for run in folders], track)
    if format_ in PICTURES:
        _draw(made, format_, words or "en", out)
        return
    if format_ == "text" and out is None:
        _print(made)
        if made.findings and not files:
            say("All of the evidence: -f html.")
        return
    if format_ == "html":
        target = out or Path("report.html")
        size = write_report_page(made, folders, words, target)
        say(f"Written to {target} ({size / 1e6:.1f} MB). Open it in any browser.")
        return
    text = FORMATS["md" if format_ == "text" else format_](made)
    if out is None:
        click.echo(text, nl=False)
        return
    with write_whole(out) as sink:
        sink.write(text.encode())
    say(f"Written to {out}.")


def _read_sums(files: Sequence[Place], track: str) -> Report:
    from ragbed.analysis.metrics.trial_columns import TRACKS
    from ragbed.analysis.partial_sum_files import read_sums
    from ragbed.cli.console import say
    from ragbed.reporting.tables import make_report

    sums = read_sums(files)
    say("Sums name no question: what compares models or remedies question by question, judges and causes are not here.")
    return make_report([str(file) for file in files], list(sums.cells(list(dict.fromkeys([*TRACKS, track])))), track)


def _print(report: Report) -> None:
    from ragbed.cli.console import say
    from ragbed.reporting.numbers import FEW

    _print_summary(report)
    print_tables(report.tables)
    say(f"Per cent of what was asked, {report.track} track, 95 % intervals by question; * fewer than {FEW} cases.")
    _print_claims(report)


def _print_summary(report: Report) -> None:
    from ragbed.analysis.locale import read_words
    from ragbed.cli.console import console
    from ragbed.reporting.summary import summarise
    from ragbed.text import printable

    out = console()
    for one in summarise(report.shown, report.track, read_words("en")):
        told = printable(f"{one.model}{f' ({one.lang})' if one.lang else ''}: {one.text}")
        out.print(told, end="\n\n", soft_wrap=not out.is_terminal)  # a pipe gets whole lines


def print_tables(tables: Sequence[ReportTable], *, to_stderr: bool = False) -> None:
    """Prints tables of a report."""
    from ragbed.cli.console import print_table
    from ragbed.reporting.numbers import show, show_asked

    for table in tables:
        columns = ("model", "data", "lang", "documents", "n", *(column.heading for column in table.columns))
        rows = [
            (
                row.key.model,
                row.data,
                row.key.lang,
                "–" if row.docs is None else row.docs,
                show_asked(row.asked, row.errors),
                *(show(cell, column) for cell, column in zip(row.cells, table.columns, strict=True)),
            )
            for row in table.rows
        ]
        print_table(table.title, columns, rows, to_stderr=to_stderr)


def _print_claims(report: Report) -> None:
    from ragbed.analysis.locale import read_words
    from ragbed.cli.console import print_table, say
    from ragbed.reporting.claim_texts import (
        evidence_columns,
        most_telling,
        split_findings,
        tell_claims,
        tell_evidence,
        tell_finding,
    )

    words = read_words("en")
    decided, unclear, missing = split_findings(report.findings)
    told = [tell_finding(finding, words) for finding in decided]
    if told:
        verdicts = [(f"{claim} {says}", verdict) for claim, says, verdict, _ in told]
        print_table(f"\n{words('claims.heading')}", ("claim", "verdict"), verdicts)
    rows = [
        tell_evidence(finding.claim, one, words) for finding in decided for one in most_telling(finding, _MOST_EVIDENCE)
    ]
    if rows:
        print_table("\nEvidence, the most telling first", evidence_columns(words), rows)
    for line in (tell_claims("unclear", unclear, words), tell_claims("missing", missing, words)):
        if line:
            say(line)


def _draw(report: Report, ending: str, words: Lang, folder: Path | None) -> None:
    from ragbed.analysis.locale import read_words
    from ragbed.cli.console import say
    from ragbed.io.jsonl import write_whole
    from ragbed.reporting.figures import draw_causes, make_figures
    from ragbed.reporting.pages.images import PICTURES

    if folder is None:
        raise UsageError(f"figures are files: name a folder for them (-f {ending} -o figures).")
    spoken = read_words(words)
    charts = [*make_figures(report.shown, report.track, spoken), *draw_causes(report.shown_causes, spoken)]
    folder.mkdir(parents=True, exist_ok=True)
    for chart in charts:
        drawn = PICTURES[ending](chart)
        with write_whole(folder / f"{chart.name}.{ending}") as sink:
            sink.write(drawn)
    say(f"{len(charts)} figures written to {folder}.")

"""`ragbed report`: the tables of runs, to be read, pasted or computed with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.report.tables import Report


@click.command()
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN...")
@options.option(
    "--format",
    "-f",
    "format_",
    type=click.Choice(["text", "md", "latex", "csv", "json"]),
    default="text",
    help="As which they are written.",
)
@options.option(
    "--track",
    type=click.Choice(["robust", "code", "paper"]),
    default="robust",
    help="Whose verdicts the tables show; csv and json have all.",
)
@options.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: the terminal. Text goes to a file as Markdown.",
)
def report(runs: tuple[Path, ...], format_: str, track: str, output: Path | None) -> None:
    """Write the tables of one or more runs.

    Every rate is of what was asked, failures included, with a 95 % interval by question and the number of cases; *
    marks fewer than 30. LaTeX has the paper's rows above ours; rows that are not comparable with them (other files,
    layout or counting) are marked. CSV and JSON hold every cell, one a line.

    \b
    Examples:
      ragbed report runs/qwen
      ragbed report runs/qwen runs/llama -f latex -o tables.tex
      ragbed report runs/qwen -f md --track code
      ragbed report runs/* -f csv -o cells.csv
    """
    from ragbed.cli.console import say
    from ragbed.report import FORMATS
    from ragbed.report.reading import read_report_cells
    from ragbed.report.tables import make_report
    from ragbed.store import write_whole

    tracks = ("robust", "code", "paper") if format_ in ("csv", "json") else (track,)
    made = make_report([str(run) for run in runs], read_report_cells(runs, tracks), track)
    if format_ == "text" and output is None:
        _print(made)
        return
    text = FORMATS["md" if format_ == "text" else format_](made)
    if output is None:
        click.echo(text, nl=False)
        return
    with write_whole(output) as sink:
        sink.write(text.encode())
    say(f"Written to {output}.")


def _print(report: Report) -> None:
    from ragbed.cli.console import print_table, say
    from ragbed.report.numbers import FEW, show, show_asked

    for table in report.tables:
        columns = ("model", "data", "lang", "documents", "asked", *(column.heading for column in table.columns))
        rows = [
            (
                row.key.model,
                f"{row.key.data}, {row.key.profile}",
                row.key.lang,
                "–" if row.docs is None else row.docs,
                show_asked(row.asked, row.errors),
                *(show(cell, column) for cell, column in zip(row.cells, table.columns, strict=True)),
            )
            for row in table.rows
        ]
        print_table(table.title, columns, rows)
    say(f"Per cent of what was asked, {report.track} track, 95 % intervals by question; * fewer than {FEW} cases.")

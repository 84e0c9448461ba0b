"""`ragbed board`: a static leaderboard site from many runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.report.html.board import Entry
    from ragbed.schema import Lang


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@options.option("--output", "-o", type=click.Path(path_type=Path), metavar="SITE", required=True, help="Its folder.")
@options.option(
    "--track", type=click.Choice(["robust", "code", "paper"]), default="robust", help="Whose verdicts it shows."
)
@options.option("--words", type=click.Choice(["en", "zh"]), default="en", help="Language it opens in; it has both.")
def board(folder: Path, output: Path, track: str, words: Lang) -> None:
    """Write a leaderboard site from all runs in a folder.

    SITE/index.html has one row a model of a run; beside it lies every run's own report. Any web server can show it,
    and so can a double-click: nothing on it comes from elsewhere. A run that cannot be read is named with the reason.

    \b
    Examples:
      ragbed board runs -o site
      ragbed board runs -o site --track code --words zh
    """
    from ragbed.cli.console import say
    from ragbed.errors import RagbedError
    from ragbed.report.html.board import LeftOut, write_board
    from ragbed.view.opening import find_runs

    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    output.mkdir(parents=True, exist_ok=True)
    for name, run in find_runs([folder]).items():
        try:
            entries.append(_add(name, run, output, track, words))
        except RagbedError as error:
            left_out.append(LeftOut(name, str(error)))
            say(f"{name} is not on the board: {error}")
    _write(output / "index.html", write_board(entries, left_out, track, words))
    say(f"{len(entries)} runs on {output / 'index.html'}.")


def _add(name: str, run: Path, output: Path, track: str, words: Lang) -> Entry:
    from ragbed.metrics.sheet import TRACKS
    from ragbed.pages.charts import safe_name
    from ragbed.report.causes import read_causes
    from ragbed.report.html import write_html
    from ragbed.report.html.board import Entry
    from ragbed.report.html.cases import pack_cases
    from ragbed.report.reading import read_report_cells
    from ragbed.report.tables import make_report
    from ragbed.view.judged import read_votes

    report = make_report([name], read_report_cells([run], TRACKS), track, read_causes([run]))
    target = f"{safe_name(f'run-{name}')}.html"
    _write(output / target, write_html(report, pack_cases([run], report.causes, read_votes), words))
    return Entry(name, target, report)


def _write(path: Path, text: str) -> None:
    from ragbed.store import write_whole

    with write_whole(path) as sink:
        sink.write(text.encode())

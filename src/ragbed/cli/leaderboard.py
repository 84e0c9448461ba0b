"""`ragbed leaderboard`: a static leaderboard site from many runs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.reporting.html.leaderboard_site import SiteEntry
    from ragbed.schema import Lang


@click.command()
@click.argument("folder", type=options.LocalPath(), metavar="DIR")
@options.option("--out", "-o", type=options.LocalPath(), metavar="SITE", required=True, help="Folder for the site.")
@options.track_option("Scoring track to show.")
@options.option(
    "--words", type=click.Choice(["en", "zh"]), help="Language in which it opens [default: that of the browser]."
)
def leaderboard(folder: Path, out: Path, track: str, words: Lang | None) -> None:
    """Build a static leaderboard site from all runs in a folder.

    SITE/index.html has one row for each model of each run, and SITE also contains the report of each run. The site
    works on any web server and from disk: it loads nothing from other sites. A run that cannot be read is listed with
    the reason.

    \b
    Examples:
      ragbed leaderboard runs -o site
      ragbed leaderboard runs -o site --track code --words zh
    """
    from ragbed.cli.console import say
    from ragbed.cli.paged import write_page
    from ragbed.errors import RagbedError
    from ragbed.reporting.html.leaderboard_site import LeftOut, write_board
    from ragbed.text import counted
    from ragbed.ui.viewer.find_runs import need_runs

    entries: list[SiteEntry] = []
    left_out: list[LeftOut] = []
    runs = need_runs([folder])
    labels = _read_labels(runs.values())
    out.mkdir(parents=True, exist_ok=True)
    for name, run in runs.items():
        try:
            entries.append(_add(name, run, out, labels, track, words))
        except RagbedError as error:
            left_out.append(LeftOut(name, str(error)))
            say(f"{name} is not on the leaderboard: {error}")
    write_page(out / "index.html", write_board(entries, left_out, track, words))
    say(f"{counted(len(entries), 'run')} on {out / 'index.html'}.")


def _read_labels(runs: Iterable[Path]) -> dict[str, str]:
    """Return the names of the models of all runs that can be read, unique among them."""
    from ragbed.errors import RagbedError
    from ragbed.runs.display_names import read_names

    readable = []
    for run in runs:
        with suppress(RagbedError):  # the leaderboard lists it with the reason
            read_names([run])
            readable.append(run)
    return read_names(readable)


def _add(name: str, run: Path, out: Path, labels: dict[str, str], track: str, words: Lang | None) -> SiteEntry:
    from ragbed.cli.paged import read_report, write_report_page
    from ragbed.reporting.html.leaderboard_site import SiteEntry
    from ragbed.reporting.pages.charts import safe_name

    report = read_report([run], [name], track, labels)
    target = f"{safe_name(f'run-{name}')}.html"
    write_report_page(report, [run], words, out / target)
    return SiteEntry(name, target, report)

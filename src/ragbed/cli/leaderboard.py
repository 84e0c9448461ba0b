"""`ragbed leaderboard`: build a static leaderboard site from many runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.console import say
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.schema import Lang


@click.command()
@click.argument("folder", type=options.LocalPath(), metavar="DIR")
@options.option(
    "--out", "-o", type=options.LocalPath(), metavar="SITE", required=True, help="Output folder for the site."
)
@options.track_option("Scoring track to show")
@options.option(
    "--locale",
    type=click.Choice(["en", "zh"]),
    show_default="the browser's language",
    help="Initial language of the site's headings and labels.",
)
def leaderboard(folder: Path, out: Path, track: str, locale: Lang | None) -> None:
    """Build a static leaderboard site from all runs in a folder.

    SITE/index.html has one row for each model of each run, and SITE also contains each run's report. The site
    works on any web server and from disk: it loads nothing from other sites. A run that cannot be read is listed with
    the reason.

    \b
    Examples:
      ragbed leaderboard runs -o site
      ragbed leaderboard runs -o site --track code --locale zh
    """
    from ragbed.api import reports

    board = reports.leaderboard(folder, out, track=track, locale=locale)
    for run in board.left_out:
        say(f"{run.name} is not on the leaderboard: {run.reason}")
    say(f"{counted(len(board.entries), 'run')} on {board.path}.")

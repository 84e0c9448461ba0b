"""`ragbed view`: every case of runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options


@click.command()
@click.argument("paths", type=options.LocalPath(), nargs=-1, metavar="[RUN|DIR]...")
@options.option("--port", type=click.IntRange(0, 65_535), help="Of 127.0.0.1; default: 7717, or any that is free.")
@options.option("--rater", metavar="NAME", help="Whose labels those are that are given here; default: the user's name.")
@options.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
def view(paths: tuple[Path, ...], port: int | None, rater: str | None, open_: bool) -> None:
    """Look at every case of one or many runs in the browser.

    Filters, full-text search in English and Chinese, several models side by side, and a page for each case: the
    prompt as sent, documents with their stance, answers marked, verdicts of all tracks with their grounds, judges.
    Labels that are given on it go to RUN/labels.jsonl, for `ragbed judge RUN --labels`. It follows runs that are at
    work, and shows those that are begun in a folder while it looks at it. Without a path it looks at the folder runs.

    Only this machine can open it, and only by the printed address, which holds a token.

    \b
    Examples:
      ragbed view
      ragbed view runs/qwen runs/llama --open
    """
    from ragbed.cli.console import say
    from ragbed.environment import cache_file
    from ragbed.text import storable_name
    from ragbed.ui.server import need_serve, open_door, serve

    need_serve()
    from ragbed.ui.viewer.app import make_app
    from ragbed.ui.viewer.find_runs import check_paths
    from ragbed.ui.viewer.opening import open_shelf

    places = paths or (Path("runs"),)
    check_paths(places)
    door = open_door(port)
    with open_shelf(places, cache_file().parent) as shelf:
        click.echo(door.address)
        count = len(shelf.books)
        found = f"{count} run{'s' if count > 1 else ''}" if count else f"No run in {', '.join(map(str, places))} yet"
        say(f"{found}; open the address above in a browser, which shows new runs as they begin. Ctrl-C ends it.")
        if open_:
            click.launch(door.address)
        try:
            serve(door, make_app(shelf, storable_name(_user() if rater is None else rater)))
        except KeyboardInterrupt:
            say("Closed.")


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as nobody it knows
        return ""

"""`ragbed view`: browse every case of runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options


@click.command()
@click.argument("paths", type=options.LocalPath(), nargs=-1, metavar="[RUN|DIR]...")
@options.option("--port", type=click.IntRange(0, 65_535), help="Port of 127.0.0.1. Default: 7717, or any free one.")
@options.option("--rater", metavar="NAME", help="Name stored with labels given on the page. Default: the user's name.")
@options.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
def view(paths: tuple[Path, ...], port: int | None, rater: str | None, open_: bool) -> None:
    """Browse every case of one or more runs in the browser.

    The page has filters, full-text search in English and Chinese, several models side by side, and a page for each
    case: the prompt as sent, documents with their relevance labels, marked answers, verdicts of all tracks with their
    evidence, and judgements. Labels that you give on it are stored in RUN/labels.jsonl, for `ragbed judge RUN
    --labels`. It follows runs in progress and shows new runs in a folder. Without a path it shows the folder runs.

    Only this machine can open it, and only with the printed URL, which contains a token.

    \b
    Examples:
      ragbed view
      ragbed view runs/qwen runs/llama --open
    """
<<<<<<< HEAD
    from ragbed.cli.cache import cache_path
    from ragbed.cli.console import say
    from ragbed.text import storable_name
    from ragbed.ui.server import need_serve, open_port, serve

    need_serve()
    from ragbed.ui.viewer.app import make_app
    from ragbed.ui.viewer.find_runs import check_paths
    from ragbed.ui.viewer.open_runs import open_runs

    places = paths or (Path("runs"),)
    check_paths(places)
    door = open_port(port)
    with open_runs(places, cache_path().parent) as shelf:
        click.echo(door.address)
        count = len(shelf.readers)
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
=======
    from ragbed.api.serving import open_viewer
    from ragbed.cli.pages import serve_page

    serve_page(open_viewer(paths, port, rater), "It shows new runs as they start.", open_=open_)
>>>>>>> apb

"""Serve a command's web page until the user interrupts the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import say

if TYPE_CHECKING:
    from ragbed.api.serving import PageServer


def serve_page(page: PageServer, note: str, *, open_: bool) -> None:
    """Print a page's URL, and serve the page until the user presses Ctrl-C."""

    def announce() -> None:
        click.echo(page.url)
        say(f"{page.description}. Open the URL above in a browser. {note} Press Ctrl-C to stop.")
        if open_:
            click.launch(page.url)

    try:
        page.serve(announce)
    except KeyboardInterrupt:
        say("Closed.")

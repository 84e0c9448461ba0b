"""Print the output of all commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ragbed.text import printable

if TYPE_CHECKING:
    from ragbed.api.serving import PageServer
    from ragbed.reporting.table import Result, Table

_PIPE_WIDTH = 1_000  # Output width for pipes in characters, large enough that tables are never wrapped.


def say(message: str) -> None:
    """Print a message to standard error."""
    sys.stderr.write(printable(message) + "\n")


def print_text(text: str, *, to_stderr: bool = False) -> None:
    """Print a text; only a terminal wraps its lines, between words."""
    if (sys.stderr if to_stderr else sys.stdout).isatty():
        from rich.console import Console

        Console(stderr=to_stderr, highlight=False, emoji=False, markup=False).print(printable(text))
    else:
        click.echo(printable(text), err=to_stderr)


def print_json(summary: object) -> None:
    """Print a machine-readable summary to standard output as a single line, always in UTF-8."""
    import json
    import re

    import msgspec

    try:
        encoded = msgspec.json.encode(summary, enc_hook=_plain)
    except UnicodeEncodeError:  # file names are not necessarily valid UTF-8
        text = json.dumps(msgspec.to_builtins(summary, enc_hook=_plain), ensure_ascii=False)
        encoded = re.sub(r"[\ud800-\udfff]", lambda found: rf"\\u{ord(found[0]):x}", text).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded + b"\n")
    sys.stdout.buffer.flush()


def _plain(value: object) -> object:
    """Return a table as a list of rows, and a path as text."""
    return list(value) if isinstance(value, Sequence) else str(value)


def print_table(table: Table, *, to_stderr: bool = False) -> None:
    """Print a table that fits the terminal if possible."""
    from ragbed.reporting.table import write_text

    stream = sys.stderr if to_stderr else sys.stdout
    is_sized = stream.isatty() or os.environ.get("COLUMNS", "").isdigit()
    room = shutil.get_terminal_size().columns if is_sized else _PIPE_WIDTH
    click.echo(write_text(table, room, lambda line: click.style(line, bold=True)), err=to_stderr)


def show_result(result: Result, *, to_stderr: bool) -> None:
    """Print the tables and texts of a result, and on standard error the explanations of the columns and the notes."""
    from ragbed.reporting.table import Table, list_meanings

    tables, follows_table = result.tables(), False
    for part in result.parts:
        if isinstance(part, str):
            print_text(part, to_stderr=to_stderr)
        elif part.headings:
            if follows_table:
                click.echo(err=to_stderr)
            print_table(part, to_stderr=to_stderr)
        follows_table = isinstance(part, Table)
    for line in dict.fromkeys([*list_meanings(tables), *(note for table in tables for note in table.notes)]):
        say(line)
    is_problem = result.exit_code in (2, 4)  # the last sentence says why
    for number, line in enumerate(result.notes, 1):
        say(f"ragbed: {line}" if is_problem and number == len(result.notes) else line)


def serve(page: PageServer) -> None:
    """Print a page's URL, and serve the page until the user presses Ctrl-C."""
    click.echo(page.url)
    say(f"{page.description}. Open the URL above in a browser. Press Ctrl-C to stop.")
    try:
        page.wait()
    except KeyboardInterrupt:
        say("Closed.")

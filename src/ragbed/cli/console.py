"""What all commands print with: results on standard output, everything else on standard error."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.text import printable, storable_name

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 1_000  # Tables in a pipe are never wrapped.


def say(message: str) -> None:
    """Tells the user something, on standard error."""
    sys.stderr.write(printable(message) + "\n")


def program() -> str:
    """Return how this program is called in the user's shell: `ragbed` if that finds it, otherwise its path."""
    typed = Path(sys.argv[0])
    found = shutil.which("ragbed")
    if found is not None and Path(found).resolve() == typed.resolve():
        return "ragbed"
    if typed.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m ragbed"
    return shlex.quote(str(typed))


def activation() -> str | None:
    """Return the command that puts this program on the PATH, if it is in a virtual environment that is not active."""
    script = Path(sys.argv[0]).with_name("activate")
    return f". {shlex.quote(str(script))}" if program() != "ragbed" and script.is_file() else None


def print_json(summary: object) -> None:
    """Prints a machine-readable summary as one line on standard output, in UTF-8 whatever the terminal speaks."""
    import msgspec

    try:
        encoded = msgspec.json.encode(summary)
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        encoded = msgspec.json.encode(_with_storable_names(msgspec.to_builtins(summary)))
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded + b"\n")
    sys.stdout.buffer.flush()


def _with_storable_names(value: object) -> object:
    if isinstance(value, str):
        return storable_name(value)
    if isinstance(value, dict):
        return {storable_name(key): _with_storable_names(inner) for key, inner in value.items()}
    return [_with_storable_names(inner) for inner in value] if isinstance(value, list | tuple) else value


def console(*, to_stderr: bool = False) -> Console:
    """A rich console; colours and width follow the terminal, NO_COLOR and pipes."""
    from rich.console import Console

    return Console(stderr=to_stderr, highlight=False, emoji=False, markup=False)


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, to_stderr: bool = False
) -> None:
    """Print a table; columns that contain only numbers are aligned right."""
    import click

    from ragbed.reporting.text_table import draw_table, rule

    stream = sys.stderr if to_stderr else sys.stdout
    is_sized = stream.isatty() or os.environ.get("COLUMNS", "").isdigit()
    room = shutil.get_terminal_size().columns if is_sized else _PIPE_WIDTH
    shown = [[printable(f"{cell:.3g}" if isinstance(cell, float) else str(cell)) for cell in row] for row in rows]
    above, heading, body = draw_table([printable(column) for column in columns], shown, room)
    bold = [click.style(line, bold=True) for line in (printable(title), *above, *heading)]
    click.echo("\n".join([*bold, rule(heading), *body]), err=to_stderr)

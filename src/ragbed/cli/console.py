"""What all commands print with: results on standard output, everything else on standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ragbed.text import printable

if TYPE_CHECKING:
    from rich.console import Console

_NUMBER = re.compile(r"–|[\d.,]+ ?[%$]?")
_PIPE_WIDTH = 1_000
"""Where there is no terminal whose width would count."""
_FIRST_WIDTH = 24
"""Of the first column at the least: rows must be told apart."""


def say(message: str) -> None:
    """Tells the user something, on standard error."""
    sys.stderr.write(printable(message) + "\n")


def print_json(summary: object) -> None:
    """Prints a machine-readable summary as one line on standard output, in UTF-8 whatever the terminal speaks."""
    import msgspec

    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.encode(summary) + b"\n")
    sys.stdout.buffer.flush()


def console(*, to_stderr: bool = False) -> Console:
    """A rich console; colours and width follow the terminal, NO_COLOR and pipes."""
    from rich.console import Console

    return Console(stderr=to_stderr, highlight=False, emoji=False, markup=False)


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, to_stderr: bool = False
) -> None:
    """Prints a table; columns that hold only numbers are aligned right.

    Nothing is lost in a pipe; on a narrow terminal the first column is shortened, and no number is.
    """
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table

    out = console(to_stderr=to_stderr)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = _PIPE_WIDTH
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) or _NUMBER.fullmatch(str(row[index])) for row in rows)
        width = max([len(column), *(len(_show(row[index])) for row in rows)])
        justify: Literal["right", "left"] = "right" if numeric else "left"
        least = width if index else min(width, _FIRST_WIDTH)
        table.add_column(column, justify=justify, no_wrap=index > 0, overflow="ellipsis", min_width=least)
    for row in rows:
        table.add_row(*map(_show, row))
    # A terminal too narrow for the numbers wraps lines, and nothing is lost.
    out.width = max(out.width, Measurement.get(out, out.options.update(max_width=_PIPE_WIDTH), table).minimum)
    out.print(table)


def _show(cell: object) -> str:
    return printable(f"{cell:.3g}" if isinstance(cell, float) else str(cell))

"""What all commands print with: results on standard output, everything else on standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ragbed.cli.fitting import fit_table, room_for
from ragbed.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NUMBER = re.compile(r"–|[\d.,]+ ?[%$]?")
_PIPE_WIDTH = 1_000
"""Where there is no terminal whose width would count."""
_FIRST_WIDTH = 24
"""Of the first column at the least: rows must be told apart."""
_NARROW = 8
"""Characters to which words and names may be broken on a narrow terminal."""


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

    Nothing is lost in a pipe, nor on a narrow terminal: there what is the same in all rows stands above them, and
    words and names are broken, numbers never.
    """
    shown = [[_show(cell) for cell in row] for row in rows]
    numeric = [all(_NUMBER.fullmatch(row[index]) for row in shown) for index in range(len(columns))]
    stream = sys.stderr if to_stderr else sys.stdout
    columns = [printable(column) for column in columns]
    if fit_table(stream, room_for(stream, _PIPE_WIDTH), printable(title), columns, shown, numeric):
        return
    out = console(to_stderr=to_stderr)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = _PIPE_WIDTH
    table = _arrange(title, columns, shown, is_narrow=False)
    if _least_width(table) > out.width:
        told, columns, shown = _without_constants(columns, shown)
        out.print(title, style="bold")
        out.print(told, end="\n" if told else "")
        table = _arrange(None, columns, shown, is_narrow=True)
    out.width = max(out.width, _least_width(table))  # a terminal too narrow for the numbers wraps lines
    out.print(table)


def _arrange(title: str | None, columns: Sequence[str], rows: Sequence[Sequence[str]], *, is_narrow: bool) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows]
        is_number = all(_NUMBER.fullmatch(cell) for cell in cells)
        justify: Literal["right", "left"] = "right" if is_number else "left"
        if is_narrow:
            longest = max(len(word) for text in (column, *cells) for word in text.split() or [""])
            least = longest if is_number else min(longest, _NARROW)
            table.add_column(column, justify=justify, overflow="fold", min_width=least)
        else:
            width = max(map(len, (column, *cells)))
            least = width if index else min(width, _FIRST_WIDTH)
            table.add_column(column, justify=justify, no_wrap=index > 0, overflow="ellipsis", min_width=least)
    for row in rows:
        table.add_row(*row)
    return table


def _without_constants(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, list[str], list[list[str]]]:
    """What is the same in every row, in words, and the columns that are not."""
    values = [{row[index] for row in rows} for index in range(len(columns))]
    same = [len(rows) > 1 and len(one) == 1 and "[" not in min(one) for one in values]  # a rate stays where rates are
    if all(same):
        return "", list(columns), [list(row) for row in rows]
    told = " · ".join(f"{column} {rows[0][index]}" for index, column in enumerate(columns) if same[index])
    kept = [index for index in range(len(columns)) if not same[index]]
    return told, [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]


def _least_width(table: Table) -> int:
    """Without what is broken being broken further; each column has two blanks after it."""
    return sum((column.min_width or 0) + 2 for column in table.columns)


def _show(cell: object) -> str:
    return printable(f"{cell:.3g}" if isinstance(cell, float) else str(cell))

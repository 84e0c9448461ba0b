"""Printing of all commands: results on standard output, everything else on standard error."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragbed.cli.fitting import fit_table, room_for, width_of
from ragbed.text import printable, storable_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NUMBER = re.compile(r"–|[\d.,]+ ?[%$]?")
_PIPE_WIDTH = 1_000  # The width where there is no terminal.
_NARROW = 8  # Characters to which words and names may be broken on a narrow terminal.


def say(message: str) -> None:
    """Print a message on standard error."""
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
    """Print a machine-readable summary as one line on standard output, in UTF-8 whatever the terminal's encoding is."""
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
    """Return a rich console; colours and width follow the terminal, NO_COLOR and pipes."""
    from rich.console import Console

    return Console(stderr=to_stderr, highlight=False, emoji=False, markup=False)


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, to_stderr: bool = False
) -> None:
    """Print a table; columns with numbers only are aligned right.

    A pipe gets complete lines. On a narrow terminal, values that are the same in all rows are printed once above the
    table, and words and names are broken, but never numbers.
    """
    shown = [[_show(cell) for cell in row] for row in rows]
    numeric = [all(_NUMBER.fullmatch(row[index]) for row in shown) for index in range(len(columns))]
    stream = sys.stderr if to_stderr else sys.stdout
    columns = [printable(column) for column in columns]
    if fit_table(stream, room_for(stream, _PIPE_WIDTH), printable(title), columns, shown, numeric):
        return
    out = console(to_stderr=to_stderr)
    shared, columns, shown = _without_constants(columns, shown)
    widths = _share_out(room_for(stream, _PIPE_WIDTH), columns, shown)
    out.width = max(out.width, sum(widths) + 2 * len(widths))  # a terminal too narrow for the numbers wraps lines
    out.print(title, style="bold")
    out.print(shared, end="\n" if shared else "")
    out.print(_arrange(columns, shown, widths))


def _arrange(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        justify: Literal["right", "left"] = "right" if all(_NUMBER.fullmatch(row[index]) for row in rows) else "left"
        table.add_column(column, justify=justify, overflow="fold", width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _share_out(room: int, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of columns: numbers are never broken, words as rarely as possible; long cells get the rest."""
    cells = [(column, *(row[index] for row in rows)) for index, column in enumerate(columns)]
    words = [[word for text in column for word in text.split() or [""]] for column in cells]
    widths = [max(map(_least_width, column)) for column in words]
    unbroken = [max(map(width_of, column)) for column in words]
    full = [max(map(width_of, column)) for column in cells]
    for _ in range(room - sum(widths) - 2 * len(widths)):
        broken = [
            (wanted - width, at)
            for at, (wanted, width) in enumerate(zip(unbroken, widths, strict=True))
            if wanted > width
        ]
        lacking = [(wanted - width, at) for at, (wanted, width) in enumerate(zip(full, widths, strict=True))]
        widths[(min(broken) if broken else max(lacking))[1]] += 1
    return widths


def _least_width(word: str) -> int:
    """Return the smallest width of a word: words and names may be broken, numbers and intervals may not."""
    return width_of(word) if any(character.isdigit() for character in word[:2]) else min(width_of(word), _NARROW)


def _without_constants(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, list[str], list[list[str]]]:
    """Return the values that are the same in every row, as text, and the other columns; rates stay in the table.

    A single row keeps its columns from the first rate on.
    """
    values = [{row[index] for row in rows} for index in range(len(columns))]
    first = next((index for index, row in enumerate(zip(*rows, strict=True)) if any("[" in cell for cell in row)), 0)
    same = [
        len(column) == 1 and "[" not in min(column) and (len(rows) > 1 or index < first)
        for index, column in enumerate(values)
    ]
    if all(same):
        return "", list(columns), [list(row) for row in rows]
    shared = " · ".join(f"{column} {rows[0][index]}" for index, column in enumerate(columns) if same[index])
    kept = [index for index in range(len(columns)) if not same[index]]
    return shared, [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]


def _show(cell: object) -> str:
    return printable(f"{cell:.3g}" if isinstance(cell, float) else str(cell))

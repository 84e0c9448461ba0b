"""What all commands print with: results on standard output, everything else on standard error."""

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
_PIPE_WIDTH = 1_000
"""Where there is no terminal whose width would count."""
_NARROW = 8
"""Characters to which words and names may be broken on a narrow terminal."""


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
    told, columns, shown = _without_constants(columns, shown)
    widths = _share_out(room_for(stream, _PIPE_WIDTH), columns, shown)
    out.width = max(out.width, sum(widths) + 2 * len(widths))  # a terminal too narrow for the numbers wraps lines
    out.print(title, style="bold")
    out.print(told, end="\n" if told else "")
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
    """How wide columns are: no number is broken, then as few words as can be, then what lacks most gets the rest."""
    cells = [(column, *(row[index] for row in rows)) for index, column in enumerate(columns)]
    words = [[word for text in one for word in text.split() or [""]] for one in cells]
    widths = [max(map(_least_width, one)) for one in words]
    unbroken = [max(map(width_of, one)) for one in words]
    full = [max(map(width_of, one)) for one in cells]
    for _ in range(room - sum(widths) - 2 * len(widths)):
        broken = [
            (whole - has, at) for at, (whole, has) in enumerate(zip(unbroken, widths, strict=True)) if whole > has
        ]
        lacking = [(whole - has, at) for at, (whole, has) in enumerate(zip(full, widths, strict=True))]
        widths[(min(broken) if broken else max(lacking))[1]] += 1
    return widths


def _least_width(word: str) -> int:
    """Words and names may be broken, numbers with their brackets may not."""
    return width_of(word) if any(mark.isdigit() for mark in word[:2]) else min(width_of(word), _NARROW)


def _without_constants(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, list[str], list[list[str]]]:
    """What is the same in every row, in words, and the columns that are not; rates stay where rates are.

    Of a single row that is all that stands before its first rate.
    """
    values = [{row[index] for row in rows} for index in range(len(columns))]
    first = next((index for index, row in enumerate(zip(*rows, strict=True)) if any("[" in cell for cell in row)), 0)
    same = [
        len(one) == 1 and "[" not in min(one) and (len(rows) > 1 or index < first) for index, one in enumerate(values)
    ]
    if all(same):
        return "", list(columns), [list(row) for row in rows]
    told = " · ".join(f"{column} {rows[0][index]}" for index, column in enumerate(columns) if same[index])
    kept = [index for index in range(len(columns)) if not same[index]]
    return told, [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]


def _show(cell: object) -> str:
    return printable(f"{cell:.3g}" if isinstance(cell, float) else str(cell))

"""Draw tables that fit the terminal.

rich draws them. Loading it takes about 45 ms, which only commands that print a table pay: `ragbed --help` does not load
it, and `ragbed run` prints its first line before it does. A renderer of our own would save these 45 ms, but it would
have to measure, wrap and align text in two writing systems like rich does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.table import Table

_NUMBER = re.compile(r"–|[\d.,]+ ?[%$]?")
_NARROW = 8  # Words and names are broken to this width on a narrow terminal.
_GAP = 2  # Spaces between columns.


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> Iterator[str | Table]:
    """Yield a table to print and, if it is too wide, a line before it with the values that all rows share.

    Words are wrapped if the table is still too wide. Numbers are never broken, so it can be wider than `room`.
    """
    widths = _full_widths(columns, rows)
    if sum(widths) + _GAP * (len(widths) - 1) > room:
        shared, columns, rows = _without_constants(columns, rows)
        widths = _share_out(room, columns, rows)
        if shared:
            yield shared
    yield _arrange(columns, rows, widths)


def _arrange(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        justify: Literal["right", "left"] = "right" if all(_NUMBER.fullmatch(row[index]) for row in rows) else "left"
        table.add_column(column, justify=justify, overflow="fold", width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _share_out(room: int, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return column widths: no number is broken, then as few words as possible, and the widest cells get the rest."""
    cells = list(zip(columns, *rows, strict=True))
    words = [[word for text in column for word in text.split() or [""]] for column in cells]
    widths = [max(map(_least_width, column)) for column in words]
    unbroken = [max(map(cell_len, column)) for column in words]
    full = _full_widths(columns, rows)
    for _ in range(room - sum(widths) - _GAP * (len(widths) - 1)):
        broken = [
            (need - width, at) for at, (need, width) in enumerate(zip(unbroken, widths, strict=True)) if need > width
        ]
        missing = [(need - width, at) for at, (need, width) in enumerate(zip(full, widths, strict=True))]
        widths[(min(broken) if broken else max(missing))[1]] += 1
    return widths


def _full_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    cells = zip(columns, *rows, strict=True)
    return [max(cell_len(line) for text in column for line in text.split("\n")) for column in cells]


def _least_width(word: str) -> int:
    """Return the width to which a word can be broken; numbers and their brackets are kept whole."""
    return cell_len(word) if any(character.isdigit() for character in word[:2]) else min(cell_len(word), _NARROW)


def _without_constants(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, list[str], list[list[str]]]:
    """Split off the columns whose value is the same in all rows, and return them as a line of text.

    Rates stay in the table. Of a single row, only the columns before its first rate are split off.
    """
    values = [set(column) for column in zip(*rows, strict=True)]
    has_rate = [any("[" in value for value in found) for found in values]
    first_rate = has_rate.index(True) if True in has_rate else 0
    same = [
        len(found) == 1 and not has_rate[at] and (len(rows) > 1 or at < first_rate) for at, found in enumerate(values)
    ]
    if all(same):
        return "", list(columns), [list(row) for row in rows]
    shared = " · ".join(f"{column} {rows[0][at]}" for at, column in enumerate(columns) if same[at])
    kept = [at for at in range(len(columns)) if not same[at]]
    return shared, [columns[at] for at in kept], [[row[at] for at in kept] for row in rows]

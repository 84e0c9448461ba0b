"""Draw text tables that fit the terminal.

Latin and Chinese text is measured with rich. Rich's own tables are not used, because loading and drawing them takes
longer than scoring a small run, and because they cannot give the widest columns the space that narrow ones do not use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

_NUMBER = re.compile(r"–|[\d.,]+ ?[%$]?")
_NARROW = 8  # Minimum width to which words and names are broken on a narrow terminal.
_GAP = 2  # Number of spaces between columns.


def draw_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: float = math.inf
) -> tuple[list[str], list[str], list[str]]:
    """Return a table as three lists of lines: values shared by all rows (if the table is too wide), heading, and rows.

    Columns that contain only numbers are right-aligned. Words are wrapped if the table is still too wide. Numbers are
    never broken, so the table can be wider than `room`.
    """
    widths, shared = _full_widths(columns, rows), ""
    if sum(widths) + _GAP * (len(widths) - 1) > room:
        shared, columns, rows = _without_constants(columns, rows)
        widths = _share_out(int(room), columns, rows)
    numeric = [all(map(_NUMBER.fullmatch, column)) for column in zip(*rows, strict=True)] or [False] * len(columns)
    body = [line for row in rows for line in _draw_row(row, widths, numeric)]
    return _wrap(shared, int(room)) if shared else [], list(_draw_row(columns, widths, numeric)), body


def rule(heading: Sequence[str]) -> str:
    """Return the line below a heading."""
    return "─" * max(map(cell_len, heading))


def _draw_row(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    wrapped = [_wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, wrapped), default=0)):
        texts = (lines[number] if number < len(lines) else "" for lines in wrapped)
        parts = (
            " " * (width - cell_len(text)) + text if right else set_cell_size(text, width)
            for text, width, right in zip(texts, widths, numeric, strict=True)
        )
        yield (" " * _GAP).join(parts).rstrip()


def _wrap(text: str, width: int) -> list[str]:
    """Wrap text into lines of at most the given width, breaking between words where possible."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if cell_len(longer) > width:
                *full, longer = chop_cells(word, width) or [""]
                lines += [line, *full] if line else full
            line = longer
        lines.append(line)
    return lines


def _share_out(room: int, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return column widths that break no numbers and as few words as possible; the widest cells get the spare room."""
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
    """Return the minimum width to which a word can be broken; numbers and their brackets are kept whole."""
    return cell_len(word) if any(character.isdigit() for character in word[:2]) else min(cell_len(word), _NARROW)


def _without_constants(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, list[str], list[list[str]]]:
    """Remove the columns that have the same value in all rows, and return their values as a line of text.

    Rates are kept in the table. If there is only one row, only the columns before its first rate are split off.
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

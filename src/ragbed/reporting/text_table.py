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
_INTERVAL = re.compile(r" \[([^\s\]]+), ([^\s\]]+)\]")
_NO_BREAK = "\N{NO-BREAK SPACE}"
_NARROW = 8  # Minimum column width in characters when words and names are broken to fit a narrow terminal.
_LONG_NAME = 24  # Names wider than this may be broken, so that the table need not be split into parts.
_GAP = 2  # Number of spaces between columns.


def draw_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: float = math.inf
) -> list[tuple[list[str], list[str]]]:
    """Draw a table as one or more parts, each with the lines of a heading and of rows.

    If the table is too wide, intervals are printed below their values, words are wrapped, and finally the columns are
    split into several parts. Numbers and intervals are never broken, so the table can still be wider than `room`.
    Columns that contain only numbers are right-aligned.
    """
    parts = [list(range(len(columns)))]
    if _width(_full_widths(columns, rows)) > room:
        has_interval = [any(_INTERVAL.search(row[at]) for row in rows) for at in range(len(columns))]
        rows = [[_INTERVAL.sub(_stack, cell) for cell in row] for row in rows]
        parts = _split(columns, rows, room, has_interval)
    return [
        _draw_part([columns[at] for at in kept], [[row[at] for at in kept] for row in rows], room) for kept in parts
    ]


def _draw_part(columns: Sequence[str], rows: Sequence[Sequence[str]], room: float) -> tuple[list[str], list[str]]:
    widths = _full_widths(columns, rows)
    if _width(widths) > room:
        widths = _share_out(int(room), columns, rows)
    numeric = [all(map(_NUMBER.fullmatch, column)) for column in zip(*rows, strict=True)] or [False] * len(columns)
    return list(_draw_row(columns, widths, numeric)), [line for row in rows for line in _draw_row(row, widths, numeric)]


def _stack(interval: re.Match[str]) -> str:
    """Format an interval for its own line, e.g. as `55.1–79.1` or, if a bound has a sign, as `[+0.8, +4.2]`."""
    low, high = interval.groups()
    return f"\n{low}–{high}" if low[0].isdigit() and high[0].isdigit() else f"\n[{low},{_NO_BREAK}{high}]"


def _split(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: float, has_interval: Sequence[bool]
) -> list[list[int]]:
    """Split the columns into parts. The columns before the first one with intervals are repeated in every part."""
    every = list(range(len(columns)))
    keys = every[: has_interval.index(True)] if True in has_interval else every
    least = [max(map(cell_len, words)) for words in _words(columns, rows)]
    least[: len(keys)] = [min(width, _LONG_NAME) for width in least[: len(keys)]]
    if keys == every or _width(least) <= room:
        return [every]
    parts = [[*keys]]
    for at in range(len(keys), len(columns)):
        if len(parts[-1]) > len(keys) and _width([least[one] for one in (*parts[-1], at)]) > room:
            parts.append([*keys])
        parts[-1].append(at)
    return parts


def rule(heading: Sequence[str]) -> str:
    """Return the horizontal line below a heading."""
    return "─" * max(map(cell_len, heading))


def _draw_row(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    wrapped = [_wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, wrapped), default=0)):
        texts = (lines[number] if number < len(lines) else "" for lines in wrapped)
        parts = (
            " " * (width - cell_len(text)) + text if right else set_cell_size(text, width)
            for text, width, right in zip(texts, widths, numeric, strict=True)
        )
        yield (" " * _GAP).join(parts).replace(_NO_BREAK, " ").rstrip()


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
    """Choose column widths that keep numbers and most words whole; spare width goes to the most cramped columns."""
    words = _words(columns, rows)
    widths = [max(map(_least_width, column)) for column in words]
    unbroken = [max(map(cell_len, column)) for column in words]
    full = _full_widths(columns, rows)
    for _ in range(room - _width(widths)):
        broken = [
            (need - width, at) for at, (need, width) in enumerate(zip(unbroken, widths, strict=True)) if need > width
        ]
        missing = [(need - width, at) for at, (need, width) in enumerate(zip(full, widths, strict=True))]
        widths[(min(broken) if broken else max(missing))[1]] += 1
    return widths


def _words(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the words in each column, including those in its heading."""
    cells = zip(columns, *rows, strict=True)
    return [[word for text in column for word in re.split(r"[ \n]", text)] for column in cells]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _full_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    cells = zip(columns, *rows, strict=True)
    return [max(cell_len(line) for text in column for line in text.split("\n")) for column in cells]


def _least_width(word: str) -> int:
    """Return the minimum column width for a word; all words except numbers and parts of intervals can be broken."""
    is_number = word[:1] == "[" or any(character.isdigit() for character in word[:2])
    return cell_len(word) if is_number else min(cell_len(word), _NARROW)

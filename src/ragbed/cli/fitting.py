"""Tables that fit where they are printed, which nearly all do: rich takes longer to load than most commands work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import zip_longest
from typing import TextIO
from unicodedata import combining, east_asian_width

_BETWEEN = "  "


def fit_table(
    out: TextIO, room: int, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]
) -> bool:
    """Prints a table in the look of the others, if it fits; whether it did.

    Args:
        out: Where it goes.
        room: How many characters a line may have.
        title: Of the table.
        columns: Their names.
        rows: Cells, which may have several lines.
        numeric: Which columns hold numbers, and are aligned right.
    """
    shown = [[cell.split("\n") for cell in row] for row in rows]
    widths = [
        max([width_of(column), *(width_of(line) for row in shown for line in row[place])])
        for place, column in enumerate(columns)
    ]
    full = sum(widths) + len(_BETWEEN) * (len(widths) - 1)
    if full > room:
        return False

    def write(cells: Sequence[str]) -> str:
        places = zip(cells, widths, numeric, strict=True)
        return _BETWEEN.join(_pad(cell, width, to_right=is_number) for cell, width, is_number in places).rstrip()

    bold, plain = ("\x1b[1m", "\x1b[0m") if out.isatty() and os.environ.get("TERM", "dumb") != "dumb" else ("", "")
    rule = "─" if (out.encoding or "").lower().startswith("utf") else "-"
    lines = [f"{bold}{title}{plain}", f"{bold}{write(columns)}{plain}", rule * full]
    for row in shown:
        lines += [write(cells) for cells in zip_longest(*row, fillvalue="")]
    out.write("\n".join(lines) + "\n")
    out.flush()
    return True


def room_for(out: TextIO, in_a_pipe: int) -> int:
    """How many characters a line may have."""
    told = os.environ.get("COLUMNS", "")
    if told.isdigit():
        return int(told)
    return os.get_terminal_size(out.fileno()).columns if out.isatty() else in_a_pipe


def width_of(text: str) -> int:
    """In columns of a terminal: Chinese characters take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(mark) in "WF" else not combining(mark) for mark in text)


def _pad(text: str, width: int, *, to_right: bool) -> str:
    spaces = " " * (width - width_of(text))
    return spaces + text if to_right else text + spaces

"""Numbers as tables show them."""

from __future__ import annotations

from ragbed.reporting.tables import TableColumn
from ragbed.schema import Estimate

FEW = 30
"""Below so many cases a rate is marked: it says little."""


def show(cell: Estimate | None, column: TableColumn, few: str = "*") -> str:
    """A value with its interval; a dash where there is none, a mark where it rests on few cases."""
    if cell is None or cell.value is None:
        return "–"
    told, low, high = (show_number(number, column) for number in (cell.value, cell.low, cell.high))
    interval = f" [{low}, {high}]" if low and high else ""
    return told + interval + (few if cell.n < FEW else "")


def show_number(number: float | None, column: TableColumn) -> str:
    """One number as its column has it, or nothing."""
    if number is None:
        return ""
    scaled, digits = (100 * number, 1) if column.is_share else (number, 2)
    return f"{round(scaled, digits) + 0.0:.{digits}f}"  # adding nothing makes minus nothing nothing


def show_asked(asked: int, errors: int) -> str:
    """How many were asked, and how many of them failed, if any did."""
    return f"{asked:,}" if not errors else f"{asked:,} ({errors:,} failed)"

"""Format numbers for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.analysis.condition_table import Rate
    from ragbed.reporting.tables import TableColumn
    from ragbed.schema import Estimate

FEW = 30  # Minimum number of cases; rates based on fewer are marked, because their intervals are wide.


def show(cell: Estimate | Rate | None, column: TableColumn | None = None, few: str = "*") -> str:
    """Format a value with its interval, marked if it is based on few cases; return a dash if there is no value.

    Args:
        cell: Estimate to show.
        column: Column that defines the unit; by default, per cent.
        few: Mark for an estimate that is based on fewer than `FEW` cases.
    """
    if cell is None or cell.value is None:
        return "–"
    value, low, high = (show_number(number, column) for number in (cell.value, cell.low, cell.high))
    interval = f" [{low}, {high}]" if low and high else ""
    return value + interval + (few if cell.n < FEW else "") + show_bound(cell, column)


def show_bound(cell: Estimate | Rate, column: TableColumn | None = None) -> str:
    """Return the rate with all unsure responses counted as right, or an empty string if no response is unsure."""
    unsure = getattr(cell, "unsure", 0)
    if not unsure or not cell.n or cell.value is None:
        return ""
    return f" (at most {show_number(min(1, cell.value + unsure / cell.n), column)})"


def show_number(number: float | None, column: TableColumn | None = None) -> str:
    """Return a number in its column's unit, or an empty string for None."""
    if number is None:
        return ""
    if column is not None and column.metric.startswith("cost"):
        return f"{number:.2f}" if number >= 1 else f"{number:.3g}"  # Dollars; a case costs a fraction of a cent.
    scaled, digits = (100 * number, 1) if column is None or column.is_share else (number, 2)
    return f"{round(scaled, digits) + 0.0:.{digits}f}"  # Adding 0.0 turns -0.0 into 0.0.


def show_asked(asked: int, errors: int, truncated: int = 0) -> str:
    """Return the number of attempted cases, and the numbers of failed and truncated ones, if there are any."""
    incomplete = show_incomplete(errors, truncated)
    return f"{asked:,} ({incomplete})" if incomplete else f"{asked:,}"


def show_incomplete(errors: int, truncated: int) -> str:
    """Return how many cases failed or were truncated, or an empty string if there are none."""
    found = {"failed": errors, "truncated": truncated}
    return ", ".join(f"{count:,} {name}" for name, count in found.items() if count)

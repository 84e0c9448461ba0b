"""Format numbers for tables."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ragbed.reporting.tables import TableColumn
    from ragbed.schema import Estimate

# Suffixes of metrics that compare two conditions question by question.
PAIRED = ("_gap", "_gain", "change", "gain_by_documents")
# Metrics that combine several conditions; their n therefore differs from the n of the other rates in a row.
_COMBINED = (*PAIRED, "auc", "refusal_f1", "balanced_accuracy")
_COSTS = ("cost", "cost_per_case", "cost_per_correct")
_LARGE = 100  # Numbers from this value upwards, e.g. token counts, are shown without decimals.
FEW = 30  # Rates based on fewer questions than this are marked, because their confidence intervals are wide.


def show(cell: Estimate | None, column: TableColumn | None = None, few: str = "*") -> str:
    """Format a value with its confidence interval, marking those based on few questions; missing values are dashes.

    Args:
        cell: Estimate to show.
        column: Column that defines the unit; by default, per cent.
        few: Mark for an estimate that is based on fewer than `FEW` questions.
    """
    if cell is None or cell.value is None:
        return "–"
    value, low, high = (show_number(number, column) for number in (cell.value, cell.low, cell.high))
    interval = f" [{low}, {high}]" if low and high else ""
    bound = show_bound(cell, column)
    least = " (at least)" if is_least(cell, column) else ""
    return value + interval + (few if cell.questions < FEW else "") + (f" (at most {bound})" if bound else "") + least


def show_bound(cell: Estimate, column: TableColumn | None = None) -> str:
    """Return the rate with all unsure responses counted as correct, or an empty string if no response is unsure."""
    if not cell.unsure or not cell.n or cell.value is None or is_least(cell, column):
        return ""
    return show_number(min(1, cell.value + cell.unsure / cell.n), column)


def is_least(cell: Estimate | None, column: TableColumn | None) -> bool:
    """Return whether a cell is a cost to which cases without token usage have not been added."""
    return cell is not None and column is not None and column.metric in _COSTS and cell.unsure > 0


def show_number(number: float | None, column: TableColumn | None = None) -> str:
    """Return a number in its column's unit, or an empty string for None."""
    if number is None:
        return ""
    if column is not None and column.metric.startswith(("cost", "dollars")):  # Many amounts are below one cent.
        return f"{number:.2f}" if number >= 1 else f"{Decimal(f'{number:.3g}'):f}"
    scaled, digits = (100 * number, 1) if column is None or column.is_share else (number, 2)
    if column is not None and not column.is_share and abs(number) >= _LARGE:
        return f"{number:,.0f}"
    return f"{round(scaled, digits) + 0.0:.{digits}f}"  # Adding 0.0 turns -0.0 into 0.0.


class CountRange(NamedTuple):
    """The smallest and the largest number of cases or questions on which a value in a table row is based."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


class RowCounts(NamedTuple):
    """The numbers of cases, failed, truncated and filtered ones behind the rates in a table row."""

    n: CountRange
    errors: CountRange
    truncated: CountRange
    filtered: CountRange


def count_cases(cells: Iterable[Estimate | None]) -> RowCounts:
    """Return the counts for a row, ignoring values that combine several conditions unless the row has no other rates.

    If it has none, n is the number of questions, because each question has several cases. Conditions without any case
    to score, e.g. infeasible ones, have no rate and are ignored as well.
    """
    present = [cell for cell in cells if cell is not None]
    known = [cell for cell in present if cell.n] or present
    rates = [cell for cell in known if not cell.metric.endswith(_COMBINED)]
    names = RowCounts._fields if rates else ("questions", *RowCounts._fields[1:])
    counts = ([getattr(cell, name) for cell in rates or known] for name in names)
    return RowCounts(*(CountRange(min(found, default=0), max(found, default=0)) for found in counts))


def show_asked(counts: RowCounts) -> str:
    """Return the number of attempted cases, and of failed, truncated and filtered ones, if there are any."""
    incomplete = show_incomplete(counts)
    return f"{counts.n} ({incomplete})" if incomplete else str(counts.n)


def show_incomplete(counts: RowCounts) -> str:
    """Return how many cases failed or were truncated or filtered, or an empty string if there are none."""
    found = {"failed": counts.errors, "truncated": counts.truncated, "filtered": counts.filtered}
    return ", ".join(f"{count} {name}" for name, count in found.items() if count.high)

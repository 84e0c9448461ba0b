"""Format numbers for tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from ragbed.analysis.locale import Locale, read_words
from ragbed.reporting.table import Shown

if TYPE_CHECKING:
    from ragbed.reporting.tables import TableColumn
    from ragbed.schema import Estimate

# Suffixes of metrics that compare two conditions question by question.
PAIRED = ("_gap", "_gain", "change", "gain_by_documents")
# Metrics that combine several conditions; their n therefore differs from the n of the other rates in a row.
COMBINED = (*PAIRED, "auc", "refusal_f1", "balanced_accuracy")
_COSTS = ("cost", "cost_per_case", "cost_per_correct")
_LARGE = 100  # Numbers from this value upwards, e.g. token counts, are shown without decimals.
FEW = 30  # Rates based on fewer questions than this are marked, because their confidence intervals are wide.


def show(cell: Estimate | None, column: TableColumn | None = None, words: Locale | None = None) -> Shown | None:
    """Return a value with its confidence interval, marked with a star if it is based on few questions.

    Args:
        cell: Estimate to show.
        column: Column that defines the unit; by default, per cent.
        words: Texts for notes; by default, in English.
    """
    if cell is None or cell.value is None:
        return None
    value, low, high = (show_number(number, column) for number in (cell.value, cell.low, cell.high))
    few = "*" if cell.questions < FEW else ""
    bounds = (f"[{low}, {high}]{few}",) if low and high else ()
    # A cost to which cases without token usage have not been added is a lower bound. Other values have an upper one:
    # the rate if all unsure responses were right.
    note = ""
    if cell.unsure:
        words = words or read_words("en")
        if column is not None and column.metric in _COSTS:
            note = words("page.at_least")
        elif cell.n:
            note = words("page.at_most", rate=show_number(min(1, cell.value + cell.unsure / cell.n), column))
    return Shown(value if bounds else value + few, "".join(bounds), note, cell.value, f"n = {cell.n}")


def show_interval(bounds: Sequence[float | None], scale: int = 100, *, is_signed: bool = False) -> Shown | None:
    """Return a value and the bounds of its interval as text, or None if the value is undefined.

    Args:
        bounds: The value and the bounds; undefined bounds are left out.
        scale: 100 for percentages, which have one decimal place, and 1 for other values, which have two.
        is_signed: Whether to show a plus sign, for differences.
    """
    value, *ends = [None if one is None or not math.isfinite(one) else scale * float(one) for one in bounds]
    if value is None:
        return None
    form = f"{'+' if is_signed else ''}.{1 if scale == 100 else 2}f"
    texts = [f"{one:{form}}" for one in (value, *ends) if one is not None]
    shown = [text.replace("-", "−") if is_signed else text for text in texts]
    return Shown(shown[0], f"[{', '.join(shown[1:])}]" if len(shown) > 2 else "", number=value)


def percent(value: float | None, digits: int = 0) -> str:
    """Return a share as a percentage, or a dash if there is no share."""
    return "–" if value is None else f"{round(100 * value, digits) + 0.0:.{digits}f}"


def show_number(number: float | None, column: TableColumn | None = None) -> str:
    """Return a number in its column's unit, or an empty string for None."""
    if number is None:
        return ""
    if column is None or column.is_share:
        return percent(number, 1)
    if column.metric.startswith(("cost", "dollars")):  # Many amounts are below one cent.
        return f"{number:.2f}" if number >= 1 else f"{Decimal(f'{number:.3g}'):f}"
    return f"{number:,.0f}" if abs(number) >= _LARGE else f"{round(number, 2) + 0.0:.2f}"  # 0.0 turns -0.0 into 0.0


class RowCounts(NamedTuple):
    """The smallest and largest number of cases behind a rate in a table row, and the most failures behind one."""

    least: int
    most: int
    errors: int
    truncated: int
    filtered: int


def count_cases(cells: Iterable[Estimate | None]) -> RowCounts:
    """Return the counts for a row, ignoring values that combine several conditions unless the row has no other rates.

    If it has none, n is the number of questions, because each question has several cases. Conditions without any case
    to score, e.g. infeasible ones, have no rate and are ignored as well.
    """
    present = [cell for cell in cells if cell is not None]
    known = [cell for cell in present if cell.n] or present
    rates = [cell for cell in known if not cell.metric.endswith(COMBINED)]
    counts = [cell.n for cell in rates] or [cell.questions for cell in known] or [0]
    failures = (max((getattr(cell, name) for cell in rates or known), default=0) for name in RowCounts._fields[2:])
    return RowCounts(min(counts), max(counts), *failures)


def show_asked(counts: RowCounts, words: Locale | None = None) -> Shown:
    """Return the number of attempted cases, and of failed, truncated and filtered ones, if there are any."""
    words = words or read_words("en")
    found = {"failed": counts.errors, "truncated": counts.truncated, "filtered": counts.filtered}
    parts = [words(f"page.{name}", count=f"{count:,}") for name, count in found.items() if count]
    n = f"{counts.least:,}" if counts.least == counts.most else f"{counts.least:,}–{counts.most:,}"
    return Shown(n, note=f"({', '.join(parts)})" if parts else "", number=counts.most)

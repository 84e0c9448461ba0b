"""Compute quality measures for prior knowledge (answers that models know without documents) and for event dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate

_KNOWN = MeasureSpec(
    "contamination",
    "base and integration items that a reference model answered without documents during the build",
    "not published for base items",
    QualityGate("≤", 0.1),
)
_GATED = MeasureSpec(
    "known counterfactual items",
    "counterfactual items that a reference model answered without documents, so that it can detect the error",
    "the paper uses models that know 70% of them",
    QualityGate("=", 1),
)
_EVENTS = MeasureSpec("dated events", "items with the date of their event", "RGB's data has no dates")
_VALID = MeasureSpec(
    "answers with dates",
    "items with the dates of the first and last page that give the answer; the note states the earliest last date",
    "RGB's data has no dates",
)
_FRESH = MeasureSpec(
    "freshness",
    "year of the median event; the note states the range",
    "stated 2022-10 to 2023-07; Chinese questions 2021 to 2023",
)


class KnowledgeMeasures:
    """Quality measures for prior knowledge and dates."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._dates: list[str] = []
        self._lasts: list[str] = []

    def add(self, view: ItemView) -> None:
        """Add one item."""
        is_gated = view.kind == "counterfactual"
        self._counts["gated" if is_gated else "fresh"] += 1
        self._counts["probed"] += view.is_probed
        if view.item.known_by:
            self._counts["gated known" if is_gated else "fresh known"] += 1
        if view.date:
            self._dates.append(view.date)
        if view.item.valid:
            self._lasts.append(view.item.valid[1])

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items; prior knowledge is measured only for datasets that ragbed built."""
        counts, items = self._counts, self._counts["gated"] + self._counts["fresh"]
        was_probed = counts["probed"] > 0
        unknown = "" if was_probed else "it is unknown whether models were probed; run the closed-book testbed"
        if counts["fresh"] or not items:
            yield _KNOWN.share(counts["fresh known"], counts["fresh"] if was_probed else 0, unknown)
        if counts["gated"]:
            yield _GATED.share(counts["gated known"], counts["gated"] if was_probed else 0, unknown)
        yield _EVENTS.share(len(self._dates), items)
        yield _VALID.share(len(self._lasts), items, min(self._lasts, default=""))
        dates = sorted(self._dates)
        middle = int(dates[len(dates) // 2][:4]) if dates else None
        window = f"{dates[0]} to {dates[-1]}" if dates else "no item has a date"
        yield _FRESH.number(middle, len(dates), window)

"""Can the questions be answered from memory: what was known without documents, and when the events were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate

_KNOWN = MeasureSpec(
    "contamination",
    "base and integration items that a reference model answered without documents when they were made",
    "not published for base items",
    QualityGate("≤", 0.1),
)
_GATED = MeasureSpec(
    "known counterfactual items",
    "counterfactual items that a reference model answered without documents: only those can be corrected",
    "the paper takes models that know 70 % of them",
    QualityGate("=", 1),
)
_EVENTS = MeasureSpec("dated events", "items with the date of their event", "RGB's data has no dates")
_VALID = MeasureSpec(
    "answers with validity",
    "items that tell from when until when pages give the answer; the note has the first of the last days",
    "RGB's data has no dates",
)
_FRESH = MeasureSpec(
    "freshness",
    "year of the median event; the note has the window",
    "stated 2022-10 to 2023-07; Chinese questions 2021 to 2023",
)


class KnowledgeMeasures:
    """Adds items up."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._dates: list[str] = []
        self._lasts: list[str] = []

    def add(self, look: ItemView) -> None:
        """Takes one item in."""
        is_gated = look.kind == "counterfactual"
        self._counts["gated" if is_gated else "fresh"] += 1
        self._counts["probed"] += look.is_probed
        if look.item.known_by:
            self._counts["gated known" if is_gated else "fresh known"] += 1
        if look.item.date:
            self._dates.append(look.item.date)
        if look.item.valid:
            self._lasts.append(look.item.valid[1])

    def tell(self) -> Iterator[Measure]:
        """What came of it; what was known is not told of datasets that were not built here."""
        counts, items = self._counts, self._counts["gated"] + self._counts["fresh"]
        was_probed = counts["probed"] > 0
        unknown = "" if was_probed else "nothing tells that models were asked; run the closed-book testbed"
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

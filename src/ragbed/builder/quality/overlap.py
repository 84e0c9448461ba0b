"""Measure how much of the evidence occurs in corpora on which models may have been trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragbed.builder.contamination import RUN, SEEN, find_seen
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate
from ragbed.schema import Lang

_SEEN = MeasureSpec(
    "n-gram overlap",
    f"items with {SEEN:.0%} or more of the text of their supporting passages in the corpora, by n-grams of "
    f"{RUN['en']} words or {RUN['zh']} characters",
    "not published",
    QualityGate("≤", 0.1),
)


class ContaminationMeasures:
    """Quality measures for training-data contamination.

    Args:
        corpora: See `find_seen`.
    """

    def __init__(self, corpora: Sequence[Path]) -> None:
        self._corpora = corpora
        self._texts: dict[str, tuple[Lang, str]] = {}

    def add(self, view: ItemView) -> None:
        """Add one item."""
        text = "\n".join(view.item.passages[place].text for place in view.places["supports"])
        self._texts[f"{view.data}/{view.item.id}"] = view.item.lang, text

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items."""
        seen = find_seen(self._texts, self._corpora)
        short = len(self._texts) - len(seen)
        note = f"maximum: {max(seen.values()):.0%}" if seen else ""
        yield _SEEN.share(
            sum(share >= SEEN for share in seen.values()), len(seen), f"{note}; {short:,} too short" if short else note
        )

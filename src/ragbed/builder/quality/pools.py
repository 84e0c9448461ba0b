"""Measure the number, length and duplication of passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate, divergence
from ragbed.schema import Lang

# Minimum number of passages of each kind (supporting and distracting) per item; the paper uses five documents per
# question.
_ENOUGH = 5
# Histogram of RGB's passage lengths, keyed by the upper limit of each bin: in characters for zh_refine, and in words
# for en_fact, whose passages are snippets.
_RGB_LENGTHS: dict[Lang, dict[int, int]] = {
    "zh": {90: 860, 125: 1454, 185: 758, 210: 932, 225: 743, 240: 842, 255: 709, 280: 740, 9999: 677},
    "en": {20: 42, 23: 95, 25: 137, 27: 216, 28: 116, 29: 143, 31: 151, 9999: 89},
}

_SIZE = MeasureSpec(
    "pool size",
    "median number of supporting and distracting passages per item",
    "zh_refine 10–42 (median 26); zh_int 18–80; en_fact 6–10; zh_fact 3–10",
)
_FILLS = MeasureSpec(
    "fills every ratio",
    "items with at least 5 supporting and 5 distracting passages",
    "zh_refine 100%; en_fact 38% and 72%; zh_fact 41% and 63%",
    QualityGate("=", 1),
)
_ONE_SUPPORTING = "most items have one supporting passage, so `ragbed run` varies the number of distractors"
_LENGTH = MeasureSpec(
    "passage length",
    "median, in Chinese characters or English words",
    "zh_refine 208 characters (p90 276, max 1,745); zh_int 215; zh_fact 93; en_fact 28 words",
)
_SHAPE = MeasureSpec(
    "length, distance to RGB",
    "Jensen–Shannon divergence, in bits, of lengths (zh_refine; en_fact, which has snippets only)",
    "0 by definition",
)
_DUPLICATES = MeasureSpec(
    "duplicate rate",
    "passages that are near or exact duplicates of an earlier one in the item (5-character n-grams, containment ≥ 0.8)",
    "zh_refine 1,070/7,715 = 13.9%; zh_int 941/5,762 = 16.3%; en_fact 5/989; zh_fact 11/948",
    QualityGate("≤", 0.02),
)
_CROSS = MeasureSpec(
    "cross-label duplicates",
    "distracting passages that are near-duplicates of a supporting one",
    "zh_refine 95; zh_int 61",
    QualityGate("=", 0),
)


class PoolMeasures:
    """Quality measures for passage pools."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._lengths: dict[Lang, list[int]] = {"en": [], "zh": []}
        self._counts: Counter[str] = Counter()
        self._supports: list[int] = []

    def add(self, view: ItemView) -> None:
        """Add one item."""
        item = view.item
        self._sizes.append(len(view.pooled))
        supports, distracts = set(view.places["supports"]), view.places["distracts"]
        self._supports.append(len(supports))
        self._counts["filled"] += min(len(supports), len(distracts)) >= _ENOUGH
        self._counts["crossed"] += sum(bool(view.near[place] & supports) for place in distracts)
        for place in view.pooled:
            text = item.passages[place].text
            self._lengths[item.lang].append(len(text) if item.lang == "zh" else len(text.split()))
            self._counts["again"] += any(other < place for other in view.near[place])

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items."""
        items, passages = len(self._sizes), sum(self._sizes)
        spread = f"{min(self._sizes)}–{max(self._sizes)}" if self._sizes else ""
        yield _SIZE.number(median(self._sizes) if self._sizes else None, items, spread)
        if self._supports and median(self._supports) == 1:  # typical of local documents, which rarely overlap
            yield replace(_FILLS, gate=None).share(self._counts["filled"], items, _ONE_SUPPORTING)
        else:
            yield _FILLS.share(self._counts["filled"], items)
        for lang, lengths in self._lengths.items():
            if lengths:
                unit = "characters" if lang == "zh" else "words"
                yield _LENGTH.number(median(lengths), len(lengths), f"{lang}: {unit}, longest {max(lengths):,}", lang)
                yield _SHAPE.number(_distance(lengths, lang), len(lengths), lang, lang)
        yield _DUPLICATES.share(self._counts["again"], passages)
        yield _CROSS.count(self._counts["crossed"], passages)


def _distance(lengths: list[int], lang: Lang) -> float:
    """Return the divergence of the passage lengths from RGB's, using bins with similar numbers of RGB passages."""
    edges = list(_RGB_LENGTHS[lang])
    bins = Counter(str(edges[min(sum(length > edge for edge in edges), len(edges) - 1)]) for length in lengths)
    return divergence(bins, {str(edge): count for edge, count in _RGB_LENGTHS[lang].items()})

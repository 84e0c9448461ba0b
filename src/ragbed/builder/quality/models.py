"""What models made of the items, from their runs: before and after a cut-off, and how well items part them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from ragbed.analysis.statistics.unpaired import fisher, two_proportions
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec

Way: TypeAlias = Literal["with documents", "closed book"]
_EXACT = 1_000
"""Items up to which the exact test is taken."""
_LEAST_MODELS = 5
"""From which a and b are estimated: fewer make no scale."""
_LEAST_PARTED = 30
"""Items that part models, from which a and b are estimated: of fewer, priors would say more than the data."""

_PARTED = MeasureSpec(
    "discrimination",
    "items that some models get right and some wrong, with documents",
    "not published",
)
_SHARPNESS = MeasureSpec(
    "discrimination a", "median of the items, by the two-parameter logistic model", "not published"
)
_DIFFICULTY = MeasureSpec(
    "difficulty b", "median of the items, where the models that were asked have mean 0 and spread 1", "not published"
)


class Answered(NamedTuple):
    """One reply to one item."""

    data: str
    item: str
    model: str
    way: Way
    is_right: bool


class ModelMeasures:
    """Adds items up.

    Args:
        answers: Of all runs; an item is right for a model that is right in most of its trials, whatever their noise.
        cutoffs: Model to the day its knowledge ends.
    """

    def __init__(self, answers: Iterable[Answered], cutoffs: Mapping[str, str]) -> None:
        self._cutoffs = cutoffs
        self._told: dict[tuple[Way, str], dict[tuple[str, str], list[bool]]] = defaultdict(lambda: defaultdict(list))
        for one in answers:
            self._told[one.way, one.model][one.data, one.item].append(one.is_right)
        self._dates: dict[tuple[str, str], str | None] = {}

    def add(self, look: ItemView) -> None:
        """Takes one item in."""
        self._dates[look.data, look.item.id] = look.item.date

    def tell(self) -> Iterator[Measure]:
        """What came of it."""
        yield from self._discrimination()
        for model, day in self._cutoffs.items():
            for way in ("closed book", "with documents"):
                yield from self._around(model, day, way)

    def _right(self, way: Way, model: str) -> dict[tuple[str, str], bool]:
        """Of each item that is measured here and that a model was asked: is it right in most trials?"""
        told = self._told.get((way, model), {})
        return {item: 2 * sum(some) > len(some) for item, some in told.items() if item in self._dates}

    def _around(self, model: str, day: str, way: Way) -> Iterator[Measure]:
        right = self._right(way, model)
        before = [is_right for item, is_right in right.items() if (date := self._dates[item]) and date <= day]
        after = [is_right for item, is_right in right.items() if (date := self._dates[item]) and date > day]
        undated = len(right) - len(before) - len(after)
        notes = [] if right else [self._elsewhere() or f"no run has replies of {model} {way}"]
        if before and after:
            test = fisher if max(len(before), len(after)) <= _EXACT else two_proportions
            notes.append(f"before against after: p = {test(sum(before), len(before), sum(after), len(after)):.2g}")
        if undated:
            notes.append(f"{undated:,} without a date left out")
        note = "; ".join(notes)
        for name, some in (("up to", before), ("after", after)):
            kind = MeasureSpec(
                f"accuracy {name} {day}, {way}",
                f"items of events {name} the cut-off of {model} that it gets right",
                "not published",
            )
            yield kind.share(sum(some), len(some), note)

    def _elsewhere(self) -> str:
        """Where the runs are of other data only: of which; else empty."""
        mine, theirs = ({data for data, _ in items} for items in (self._dates, chain(*self._told.values())))
        return (
            f"no run is of this data; the runs are of {', '.join(sorted(theirs))}"
            if theirs and not mine & theirs
            else ""
        )

    def _discrimination(self) -> Iterator[Measure]:
        all_right = (self._right(way, model) for way, model in sorted(self._told) if way == "with documents")
        right = [some for some in all_right if some]  # who was asked nothing of this data counts for nothing
        items = [item for item in self._dates if sum(item in some for some in right) > 1]
        sums = [[some[item] for some in right if item in some] for item in items]
        every, none = sum(map(all, sums)), sum(not any(some) for some in sums)
        parted = len(items) - every - none
        note = f"{every:,} are right for all of {len(right)} models, {none:,} for none"
        yield _PARTED.share(parted, len(items), note if items else self._elsewhere() or "needs runs of two models")
        if len(right) >= _LEAST_MODELS and parted >= _LEAST_PARTED:
            yield from _fit(right, items)


def _fit(right: list[dict[tuple[str, str], bool]], items: list[tuple[str, str]]) -> Iterator[Measure]:
    import numpy as np  # noqa: PLC0415 - takes time to load

    from ragbed.analysis.statistics.irt import fit_2pl  # noqa: PLC0415 - needs it

    found = fit_2pl(np.array([[some.get(item, np.nan) for item in items] for some in right], float))
    for kind, spread in ((_SHARPNESS, found.a), (_DIFFICULTY, found.b)):
        note = f"{len(right)} models; four fifths of the items from {spread.low:.2f} to {spread.high:.2f}"
        yield kind.number(spread.median, len(items), note)

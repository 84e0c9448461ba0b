"""Compute measures from model runs: accuracy before and after a knowledge cut-off, and item discrimination."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from ragbed.analysis.statistics.unpaired import fisher, two_proportions
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec

Way: TypeAlias = Literal["with documents", "closed book"]
_MAX_EXACT = 1_000  # maximum number of items for which the exact test is used
_MIN_MODELS = 5  # minimum number of models for estimating item parameters; with fewer, the scale is poorly determined
_MIN_SPLIT = 30  # minimum number of discriminating items for estimating parameters; with fewer, the priors dominate

_SPLIT = MeasureSpec(
    "discrimination",
    "items that some models answer correctly and others do not, with documents",
    "not published",
)
_SHARPNESS = MeasureSpec(
    "discrimination a", "median over the items, by the two-parameter logistic model", "not published"
)
_DIFFICULTY = MeasureSpec(
    "difficulty b",
    "median over the items; the abilities of the models have mean 0 and standard deviation 1",
    "not published",
)


class Answered(NamedTuple):
    """A scored response to one item."""

    data: str
    item: str
    model: str
    way: Way
    is_right: bool


class ModelMeasures:
    """Quality measures that require model runs.

    Args:
        answers: Responses from all runs. A model counts as correct on an item if most of its trials are correct.
        cutoffs: Knowledge cut-off date of each model.
    """

    def __init__(self, answers: Iterable[Answered], cutoffs: Mapping[str, str]) -> None:
        self._cutoffs = cutoffs
        self._trials: dict[tuple[Way, str], dict[tuple[str, str], list[bool]]] = defaultdict(lambda: defaultdict(list))
        for answer in answers:
            self._trials[answer.way, answer.model][answer.data, answer.item].append(answer.is_right)
        self._dates: dict[tuple[str, str], str | None] = {}

    def add(self, view: ItemView) -> None:
        """Add one item."""
        self._dates[view.data, view.item.id] = view.date

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items."""
        yield from self._discrimination()
        for model, day in self._cutoffs.items():
            for way in ("closed book", "with documents"):
                yield from self._around(model, day, way)

    def _right(self, way: Way, model: str) -> dict[tuple[str, str], bool]:
        """Return, for each measured item, whether a model answers it correctly in most trials."""
        by_item = self._trials.get((way, model), {})
        return {item: 2 * sum(trials) > len(trials) for item, trials in by_item.items() if item in self._dates}

    def _around(self, model: str, day: str, way: Way) -> Iterator[Measure]:
        right = self._right(way, model)
        dated = [(date, is_right) for item, is_right in right.items() if (date := self._dates[item])]
        before = [is_right for date, is_right in dated if date <= day]
        after = [is_right for date, is_right in dated if date > day]
        notes = [] if right else [self._other_data() or f"no run contains responses from {model} {way}"]
        if before and after:
            p_value = compare_shares(sum(before), len(before), sum(after), len(after))
            notes.append(f"before vs after: p = {p_value:.2g}")
        if undated := len(right) - len(dated):
            notes.append(f"items without a date excluded: {undated:,}")
        note = "; ".join(notes)
        for name, part in (("up to", before), ("after", after)):
            kind = MeasureSpec(
                f"accuracy {name} {day}, {way}",
                f"items about events {name} the cutoff of {model} that it answers correctly",
                "not published",
            )
            yield kind.share(sum(part), len(part), note)

    def _other_data(self) -> str:
        measured, run = ({data for data, _ in items} for items in (self._dates, chain(*self._trials.values())))
        return f"no run uses this dataset; the runs use {', '.join(sorted(run))}" if run and not measured & run else ""

    def _discrimination(self) -> Iterator[Measure]:
        by_model = (self._right(way, model) for way, model in sorted(self._trials) if way == "with documents")
        right = [correct for correct in by_model if correct]  # skip models that were not run on this dataset
        items = [item for item in self._dates if sum(item in correct for correct in right) > 1]
        by_item = [[correct[item] for correct in right if item in correct] for item in items]
        every, none = sum(map(all, by_item)), sum(not any(correct) for correct in by_item)
        split = len(items) - every - none
        note = f"all {len(right)} models are correct on {every:,}, none on {none:,}"
        yield _SPLIT.share(split, len(items), note if items else self._other_data() or "requires runs of two models")
        if len(right) >= _MIN_MODELS and split >= _MIN_SPLIT:
            yield from _fit(right, items)


def compare_shares(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """Return the p-value for the difference between two shares, computed exactly for small counts."""
    test = fisher if max(n, other_n) <= _MAX_EXACT else two_proportions
    return test(hits, n, other_hits, other_n)


def _fit(right: list[dict[tuple[str, str], bool]], items: list[tuple[str, str]]) -> Iterator[Measure]:
    import numpy as np  # noqa: PLC0415 - slow to import

    from ragbed.analysis.statistics.irt import fit_2pl  # noqa: PLC0415 - imports numpy

    found = fit_2pl(np.array([[correct.get(item, np.nan) for item in items] for correct in right], float))
    for kind, spread in ((_SHARPNESS, found.a), (_DIFFICULTY, found.b)):
        note = f"{len(right)} models; 80% of the items are between {spread.low:.2f} and {spread.high:.2f}"
        yield kind.number(spread.median, len(items), note)

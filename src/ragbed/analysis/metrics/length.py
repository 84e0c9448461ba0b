"""Long contexts: accuracy by number of documents, and by position of the supporting document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.abilities import of_shared_questions
from ragbed.analysis.metrics.cells import Cell, CellBuilder, interval_of
from ragbed.analysis.statistics.paired import changes
from ragbed.analysis.statistics.rates import Interval, combine_rates
from ragbed.analysis.statistics.testing import Floats
from ragbed.analysis.trials.columns import Mask

PARTS = 5  # number of equal parts into which a prompt's document positions are divided
_FIRST, _MIDDLE, _LAST = 0, 2, 4
MIDDLE_WEIGHTS = (0.5, 0.5, -1.0)  # weights of the accuracies in the first, last and middle parts of the prompt


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells for each combination of distractor condition and number of supporting documents."""
    trials = builder.trials
    supporting = np.rint(trials.k * (1 - np.nan_to_num(trials.noise))).astype(np.int64)
    for testbed, arm in trials.kinds:
        mask = trials.of(testbed, arm) & (testbed == "length")
        for count in np.unique(supporting[mask]).tolist():
            label = arm if count == 1 else f"{arm}, {count} supporting"
            here = mask & (supporting == count)
            yield from _measure_condition(builder, here, None if label == "related" else label)
            if count == 1:
                yield from _measure_positions(builder, here, None if label == "related" else label)


def _measure_condition(builder: CellBuilder, mask: Mask, arm: str | None) -> Iterator[Cell]:
    trials, correct = builder.trials, builder.score("correct")
    points: dict[int, Mask] = dict(trials.split(mask, "k"))
    for k, point in points.items():
        here = builder.at(k=k, arm=arm)
        yield here.rate("accuracy", point, correct)
        for name, tokens in trials.present(["prompt_tokens"], point):
            yield here.ratio(name, point, tokens)
    if len(points) > 1:
        shared = of_shared_questions(trials, points, correct)
        (_, shortest), *others = points.items()
        for k, point in others:
            yield from builder.at(k=k, arm=arm).difference("change", shortest, point, correct)
        if len(shared) > 1:
            yield _measure_slope(builder.at(arm=arm), mask, shared, correct)


def _measure_slope(builder: CellBuilder, mask: Mask, points: dict[int, Mask], correct: Floats) -> Cell:
    """Return the least-squares slope per doubling of the number of documents.

    It is a multiple of a paired difference: between the means of a question's accuracies with more and with fewer
    documents than the mean (of the logarithms), weighted by their distance from it.
    """
    trials = builder.trials
    distance = np.log2(list(points)) - np.mean(np.log2(list(points)))
    accuracy = np.column_stack([trials.per_item(point, correct) for point in points.values()])
    shared = np.asarray(np.isfinite(accuracy).all(axis=1))
    scale = np.abs(distance).sum() / 2
    moved = changes(np.zeros(np.count_nonzero(shared)), accuracy[shared] @ distance / scale)
    scored = np.logical_or.reduce(list(points.values())) & np.isfinite(correct)
    weights = np.bincount(trials.item[scored], minlength=len(shared))[shared]
    clusters = trials.clusters_of(trials.item, len(shared))[shared]
    cell = builder.paired("slope_per_doubling", moved, weights, clusters, mask, scored)
    factor = float(scale / (distance @ distance))
    slope = Interval(*(bound * factor for bound in interval_of(cell.estimate)))
    sums = cell.sums and cell.sums._replace(totals=factor * cell.sums.totals, highest=factor)
    return builder.cell("slope_per_doubling", slope, mask, scored, sums=sums)


def _measure_positions(builder: CellBuilder, mask: Mask, arm: str | None) -> Iterator[Cell]:
    """Yield, for each length, the accuracy by the part of the prompt that contains the supporting document."""
    trials, correct = builder.trials, builder.score("correct")
    part = PARTS * trials.slot // np.maximum(trials.k, 1)
    for k, point in trials.split(mask & (trials.slot >= 0) & (trials.k > 1), "k"):
        cells = {
            number: builder.at(k=k, arm=arm, slot=number).rate("accuracy_by_part", here, correct)
            for number, here in ((number, point & (part == number)) for number in range(PARTS))
            if here.any()
        }
        yield from cells.values()
        compared = [cells[number].estimate for number in (_FIRST, _LAST, _MIDDLE) if number in cells]
        if len(compared) == 3 and all(one.value is not None for one in compared):
            loss = combine_rates([interval_of(one) for one in compared], MIDDLE_WEIGHTS)
            used = point & np.isin(part, (_FIRST, _MIDDLE, _LAST))
            here = builder.at(k=k, arm=arm)
            masks = [point & (part == number) for number in (_FIRST, _LAST, _MIDDLE)]
            sums = here.combined_sums(MIDDLE_WEIGHTS, *((mask, correct) for mask in masks))
            sums = sums._replace(totals=2 * sums.totals, lowest=-1.0)  # the absolute weights add up to 2
            yield here.cell("middle_loss", here.fixed(loss), used, used & np.isfinite(correct), sums=sums)

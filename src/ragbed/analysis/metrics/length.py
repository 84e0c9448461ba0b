"""Long contexts: accuracy by number of documents, and by position of the supporting document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder, interval_of
from ragbed.analysis.metrics.curve import measure_bands, of_shared_questions, ratio_of_loss, within
from ragbed.analysis.metrics.trial_columns import Mask
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import clustered_mean
from ragbed.analysis.statistics.trend import clustered_slope
from ragbed.analysis.statistics.unpaired import combine_rates

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
        yield from _measure_tokens(here, point)
    if len(points) > 1:
        shared = of_shared_questions(trials, points, correct)
        builders = [builder.at(k=k, arm=arm) for k in shared]
        yield from measure_bands(builders, list(shared.values()), correct)
        (_, shortest), *others = points.items()
        for k, point in others:
            yield builder.at(k=k, arm=arm).difference("change", shortest, point, correct)
        if len(shared) > 1:
            yield from _measure_trend(builder.at(arm=arm), mask, shared, correct)


def _measure_tokens(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    """Yield the mean length of the prompts in tokens, and the share of prompts whose length is an estimate."""
    trials = builder.trials
    tokens = trials.untracked("prompt_tokens")
    known = mask & np.isfinite(tokens)
    if known.any():
        rows, counts = trials.sums((known, tokens))
        sums, sizes = np.repeat(rows, counts, axis=0).T.tolist()
        yield builder.cell("prompt_tokens", builder.fixed(clustered_mean(sums, sizes)), trials.size(known), mask)
        estimated = float(trials.scores["tokens_estimated"][known].mean())
        yield builder.number("tokens_estimated", estimated, trials.size(known), mask)


def _measure_trend(builder: CellBuilder, mask: Mask, points: dict[int, Mask], correct: Floats) -> Iterator[Cell]:
    """Yield the slope per doubling of the document count, the retention, and the document count at a 10% loss."""
    trials, scored = builder.trials, np.logical_or.reduce(list(points.values())) & np.isfinite(correct)
    doublings = np.log2(np.maximum(trials.k, 1))
    counts = trials.count[scored]
    trend = clustered_slope(doublings[scored], correct[scored], trials.cluster[scored], counts=counts)
    yield builder.cell("slope_per_doubling", builder.fixed(trend.slope), trials.size(scored), mask, scored=scored)
    numbers = np.array(list(points), np.float64)

    def statistic(totals: Floats) -> Floats:
        hits, sizes = np.split(totals, 2, axis=-1)
        return length_shape(numbers, hits / sizes)

    parts = [(point, correct) for point in points.values()]
    retention, lost = builder.resampled(["retention", "docs10"], parts, statistic)
    yield retention
    yield within(lost, numbers[0], numbers[-1])


def length_shape(numbers: Floats, curve: Floats) -> Floats:
    """Return the retention of a curve, and the number of documents at which a tenth of the accuracy is lost."""
    lost = np.exp2(ratio_of_loss(np.log2(numbers), curve))
    return np.stack([curve[..., -1] / curve[..., 0], lost], axis=-1)


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
            yield here.cell("middle_loss", here.fixed(loss), sum(one.n for one in compared), used)

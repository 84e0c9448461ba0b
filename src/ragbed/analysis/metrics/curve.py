"""Metrics of a score as a function of the noise ratio: bands, area, slope, retention, ρ₁₀ and declines.

The headline metric is ρ₁₀, the noise ratio at which a tenth of the accuracy at the lowest ratio is lost. The lowest
and highest ratios are those with results, because all cases at a ratio can be infeasible. Area, slope, retention and
ρ₁₀ use only the questions with results at every ratio. See docs/explanation/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec
import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Mask, TrialColumns
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.paired import decline_test, equivalence_test, sign_flips
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.analysis.statistics.simultaneous import clustered_bands
from ragbed.analysis.statistics.trend import clustered_slope

LOSS = 0.1  # relative loss that defines ρ₁₀
MIN_DROP = 0.03  # δ: minimum drop that counts as a decline; scores that differ by less are equivalent
_BEYOND = 1.0  # added to the last ratio if the loss is not reached, so that resamples are still ordered correctly

_Point = TypeVar("_Point", int, float)


def measure_curve(builder: CellBuilder, mask: Mask, k: int) -> Iterator[Cell]:
    """Yield all cells of one curve.

    Args:
        builder: The builder of the table.
        mask: The trials of one testbed, distractor condition and number of documents.
        k: Number of documents.
    """
    correct = builder.score("correct")
    points = dict(builder.trials.split(mask, "noise"))
    for ratio, point in points.items():
        yield builder.at(noise=ratio, k=k).rate("accuracy", point, correct)
    scored = {ratio: point for ratio, point in points.items() if np.isfinite(correct[point]).any()}
    if len(scored) > 1:
        builders = [builder.at(noise=ratio, k=k) for ratio in scored]
        yield from measure_bands(builders, list(scored.values()), correct)
        here = builder.at(k=k)
        shared = of_shared_questions(builder.trials, scored, correct)
        yield from _shape(here, mask, shared, correct)
        yield from _trend(here, mask, shared, correct)
        yield from _declines(here, mask, scored, correct, k)


def of_shared_questions(trials: TrialColumns, points: dict[_Point, Mask], values: Floats) -> dict[_Point, Mask]:
    """Return the trials of questions with a score at every point of a curve. Points without any scores are dropped.

    Questions with too few documents for some points may be harder or easier than the others, so a curve over different
    questions would show a trend even if no response depends on the condition.
    """
    found = {at: np.isfinite(trials.per_item(point, values)) for at, point in points.items()}
    scored = [at for at in points if found[at].any()]
    shared = np.logical_and.reduce([found[at] for at in scored])[trials.item] if scored else np.zeros_like(trials.asked)
    return {at: points[at] & shared for at in scored}


def measure_bands(builders: Sequence[CellBuilder], points: Sequence[Mask], correct: Floats) -> Iterator[Cell]:
    """Yield the accuracy at every point of a curve, with intervals that hold jointly for the whole curve.

    Args:
        builders: The builder at each point.
        points: The trials at each point.
        correct: The scores of all trials.
    """
    scored = [point & np.isfinite(correct) for point in points]
    known = [number for number, point in enumerate(scored) if point.any()]
    if len(known) < 2 or builders[0].alpha is not None:  # confidence bands assume a fixed number of questions
        return
    trials = builders[0].trials
    rows, counts = trials.sums(*((scored[number], correct) for number in known))
    for number, band in zip(known, clustered_bands(rows, counts.tolist()), strict=True):
        n = trials.size(scored[number])
        yield builders[number].cell("accuracy_band", band, n, points[number], scored=scored[number])


def area(ratios: Floats, curve: Floats) -> Floats:
    """Return the mean height of the curve: its area by the trapezoidal rule, divided by the range of ratios."""
    return np.asarray(np.trapezoid(curve, ratios, axis=-1) / (ratios[-1] - ratios[0]), np.float64)


def ratio_of_loss(ratios: Floats, curve: Floats) -> Floats:
    """Return the first ratio (interpolated linearly) with a relative loss of `LOSS`, or a value past the last ratio."""
    wanted = (1 - LOSS) * curve[..., :1]
    before, after = curve[..., :-1], curve[..., 1:]
    crossed = after <= wanted
    share = np.divide(before - wanted, before - after, out=np.zeros_like(before), where=before > after)
    where = ratios[:-1] + share * np.diff(ratios)
    first = np.take_along_axis(where, crossed.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    found = np.where(crossed.any(axis=-1), first, ratios[-1] + _BEYOND)
    return np.where(curve[..., 0] > 0, found, np.nan)


def _shape(builder: CellBuilder, mask: Mask, points: dict[float, Mask], correct: Floats) -> Iterator[Cell]:
    """Yield the area, retention and ρ₁₀, all computed with one bootstrap."""
    ratios = np.array(list(points))

    def statistic(totals: Floats) -> Floats:
        hits, trials = np.split(totals, 2, axis=-1)
        curve = hits / trials
        return np.stack([area(ratios, curve), curve[..., -1] / curve[..., 0], ratio_of_loss(ratios, curve)], axis=-1)

    parts = [(point, correct) for point in points.values()]
    *cells, rho = builder.resampled(["auc", "retention", "rho10"], parts, statistic, mask)
    yield from cells
    yield within(rho, ratios[0], ratios[-1])


def within(cell: Cell, lowest: float, highest: float) -> Cell:
    """Return a copy of a cell without any value or bound that lies outside the measured range."""
    bounds = {name: getattr(cell.estimate, name) for name in ("value", "low", "high")}
    known = {
        name: None if bound is None or not lowest - 1e-9 <= bound <= highest + 1e-9 else bound
        for name, bound in bounds.items()
    }
    return replace(cell, estimate=msgspec.structs.replace(cell.estimate, **known))


def _trend(builder: CellBuilder, mask: Mask, points: dict[float, Mask], correct: Floats) -> Iterator[Cell]:
    scored = np.logical_or.reduce(list(points.values())) & np.isfinite(correct)
    trials, n = builder.trials, builder.trials.size(scored)
    trend = clustered_slope(trials.noise[scored], correct[scored], trials.cluster[scored], counts=trials.count[scored])
    yield builder.cell("slope", builder.fixed(trend.slope), n, mask, scored=scored)
    yield builder.number("falls_p", trend.falls, n, mask)


def _declines(builder: CellBuilder, mask: Mask, points: dict[float, Mask], correct: Floats, k: int) -> Iterator[Cell]:
    """Yield the change from the lowest ratio to each other ratio, with unadjusted and Holm-adjusted p-values."""
    (_, clean), *rest = points.items()
    compared = {ratio: builder.moved(clean, point, correct) for ratio, point in rest}
    others = [(ratio, point) for ratio, point in rest if len(compared[ratio][0])]
    moved = [compared[ratio] for ratio, _ in others]
    if not others:
        return
    if builder.alpha is not None:  # the tests assume a fixed number of questions
        for ratio, point in others:
            yield builder.at(noise=ratio, k=k).difference("change", clean, point, correct)
        return
    raw = {
        "drop": [sign_flips(differences, counts=counts) for differences, counts in moved],
        "decline": [decline_test(differences, MIN_DROP, counts) for differences, counts in moved],
        "same": [equivalence_test(differences, MIN_DROP, counts) for differences, counts in moved],
    }
    sizes = [int(counts.sum()) for _, counts in moved]
    adjusted = {name: holm(values) for name, values in raw.items()}
    for index, (ratio, point) in enumerate(others):
        here, both, n = builder.at(noise=ratio, k=k), clean | point, sizes[index]
        yield here.difference("change", clean, point, correct)
        for name, values in raw.items():
            yield here.number(f"{name}_p", values[index], n, both)
            yield here.number(f"{name}_holm", float(adjusted[name][index]), n, both)
    declined = np.flatnonzero(adjusted["decline"] < ALPHA).tolist()
    first, n = (others[declined[0]][0], sizes[declined[0]]) if declined else (np.nan, min(sizes))
    yield builder.number("first_decline", first, n, mask)

"""A score as a function of the noise ratio: area, slope, retention, ρ₁₀, and where it declines (docs/statistics.md).

The headline is ρ₁₀, the ratio at which a tenth of the accuracy without noise is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Mask
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.paired import decline_test, equivalence_test, sign_flips
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.analysis.statistics.trend import clustered_slope

LOSS = 0.1
"""Of the score at the lowest ratio, relative: what ρ₁₀ is the ratio of."""
LEAST_DROP = 0.03
"""δ: a smaller drop is no decline, and within it scores count as the same."""
_BEYOND = 1.0
"""Added to the last ratio where the loss is not reached: resamples order as they should, and no bound is told."""


def measure_curve(maker: CellBuilder, mask: Mask, k: int) -> Iterator[Cell]:
    """All cells of one curve.

    Args:
        maker: Of the table.
        mask: The trials: one testbed and arm.
        k: Number of documents.
    """
    mask = mask & (maker.sheet.k == k)
    correct = maker.score("correct")
    ratios = np.unique(maker.sheet.noise[mask])
    points = [mask & (maker.sheet.noise == ratio) for ratio in ratios]
    for ratio, point in zip(ratios.tolist(), points, strict=True):
        yield maker.rate("accuracy", point, correct, noise=ratio, k=k)
    if len(ratios) > 1:
        yield from _shape(maker, ratios, points, correct, k)
        yield from _trend(maker, mask, correct, k)
        yield from _declines(maker, ratios, points, correct, k)


def area(ratios: Floats, curve: Floats) -> Floats:
    """Area under the curve by trapezes, over the width of the scale: the mean height."""
    steps = np.diff(ratios)
    return np.asarray(((curve[..., 1:] + curve[..., :-1]) / 2 * steps).sum(axis=-1) / steps.sum(), np.float64)


def ratio_of_loss(ratios: Floats, curve: Floats) -> Floats:
    """The first ratio, between measured ones by straight lines, at which the loss is reached; else past the last."""
    wanted = (1 - LOSS) * curve[..., :1]
    before, after = curve[..., :-1], curve[..., 1:]
    crossed = after <= wanted
    share = np.divide(before - wanted, before - after, out=np.zeros_like(before), where=before > after)
    where = ratios[:-1] + share * np.diff(ratios)
    first = np.take_along_axis(where, crossed.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    found = np.where(crossed.any(axis=-1), first, ratios[-1] + _BEYOND)
    return np.where(curve[..., 0] > 0, found, np.nan)


def _shape(maker: CellBuilder, ratios: Floats, points: list[Mask], correct: Floats, k: int) -> Iterator[Cell]:
    """Area, retention and ρ₁₀, of one bootstrap."""

    def statistic(totals: Floats) -> Floats:
        hits, asked = np.split(totals, 2, axis=-1)
        curve = hits / asked
        return np.stack([area(ratios, curve), curve[..., -1] / curve[..., 0], ratio_of_loss(ratios, curve)], axis=-1)

    cells = maker.resampled(["auc", "retention", "rho10"], [(point, correct) for point in points], statistic, k=k)
    yield from cells[:2]
    yield _bounded(cells[2], float(ratios[-1]))


def _bounded(cell: Cell, last: float) -> Cell:
    """What lies past the last ratio is not known: no number."""
    told = {name: getattr(cell.estimate, name) for name in ("value", "low", "high")}
    kept = {name: None if number is not None and number > last + 1e-9 else number for name, number in told.items()}
    estimate = msgspec.structs.replace(cell.estimate, **kept)
    return replace(cell, estimate=estimate)


def _trend(maker: CellBuilder, mask: Mask, correct: Floats, k: int) -> Iterator[Cell]:
    there = mask & np.isfinite(correct)
    sheet, n = maker.sheet, maker.sheet.size(there)
    trend = clustered_slope(sheet.noise[there], correct[there], sheet.cluster[there], counts=sheet.count[there])
    yield maker.interval("slope", trend.slope, n, mask, k=k)
    yield maker.number("falls_p", trend.falls, n, mask, k=k)


def _declines(maker: CellBuilder, ratios: Floats, points: list[Mask], correct: Floats, k: int) -> Iterator[Cell]:
    """Each ratio against the lowest: the change, and p values as such and adjusted (Holm) for the number of ratios."""
    moved = [maker.moved(points[0], point, correct) for point in points[1:]]
    if not all(len(one) for one, _ in moved):
        return
    raw = {
        "drop": [sign_flips(one, counts=counts) for one, counts in moved],
        "decline": [decline_test(one, LEAST_DROP, counts) for one, counts in moved],
        "same": [equivalence_test(one, LEAST_DROP, counts) for one, counts in moved],
    }
    sizes = [int(counts.sum()) for _, counts in moved]
    adjusted = {name: holm(values) for name, values in raw.items()}
    for place, ratio in enumerate(ratios[1:].tolist()):
        both, n = points[0] | points[place + 1], sizes[place]
        yield maker.difference("change", points[0], points[place + 1], correct, noise=ratio, k=k)
        for name, values in raw.items():
            yield maker.number(f"{name}_p", values[place], n, both, noise=ratio, k=k)
            yield maker.number(f"{name}_holm", float(adjusted[name][place]), n, both, noise=ratio, k=k)
    declined = np.flatnonzero(adjusted["decline"] < ALPHA)
    first = float(ratios[declined[0] + 1]) if len(declined) else np.nan
    n = sizes[declined[0]] if len(declined) else min(sizes)
    yield maker.number("first_decline", first, n, np.logical_or.reduce(points), k=k)

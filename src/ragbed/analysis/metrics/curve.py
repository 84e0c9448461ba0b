"""Metrics of a score as a function of the noise ratio: accuracy, bands, area, changes and gain.

The lowest ratio is the first one with results, because all cases at a ratio can be infeasible. The area uses only the
questions with results at every ratio. See docs/explanation/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder, weigh
from ragbed.analysis.statistics.curves import clustered_bands
from ragbed.analysis.statistics.testing import Floats
from ragbed.analysis.trials.columns import Mask, TrialColumns

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
    for ratio, point in scored.items():
        closed = builder.trials.of("closed-book")
        yield from builder.at(noise=ratio, k=k).difference("gain_by_documents", closed, point, correct)
    if len(scored) > 1:
        builders = [builder.at(noise=ratio, k=k) for ratio in scored]
        yield from measure_bands(builders, list(scored.values()), correct)
        yield _area(builder.at(k=k), mask, of_shared_questions(builder.trials, scored, correct), correct)
        (_, lowest), *others = scored.items()
        for ratio, point in others:
            yield from builder.at(noise=ratio, k=k).difference("change", lowest, point, correct)


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
    bands = clustered_bands(trials.sums(*((scored[number], correct) for number in known)))
    for number, band in zip(known, bands, strict=True):
        yield builders[number].cell("accuracy_band", band, points[number], scored[number])


def _area(builder: CellBuilder, mask: Mask, points: dict[float, Mask], correct: Floats) -> Cell:
    """Return the mean height of the curve: its area by the trapezoidal rule, divided by the range of ratios."""
    steps = np.diff(list(points))
    shares = (np.append(steps, 0) + np.insert(steps, 0, 0)) / 2
    values = np.where(np.logical_or.reduce(list(points.values())), correct, np.nan)
    return builder.rate("auc", mask, values, weigh(zip(points.values(), shares.tolist(), strict=True), values))

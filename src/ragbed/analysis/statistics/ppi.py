"""Prediction-powered inference: a rate judged by machine, corrected by what people said of a sample.

Angelopoulos et al. (2023), and PPI++ for the power λ. Written with influence functions, so that labels may be drawn
with unequal probabilities (each weighs one over its probability) and trials of one question may be alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import LEVEL, Interval, wilson

_UNSEEN = 0.4
"""Disagreements added to those seen: a judge that errs in none of a hundred labels may still err in one of a hundred.
Chosen by simulation (`python -m benches stats_coverage`): without it intervals of a near-perfect judge cover 86 %."""


class Corrected(NamedTuple):
    """A corrected rate, and how far the judge was used for it."""

    rate: Interval
    power: float
    """λ: 1 takes the judge as it is, 0 leaves it out."""
    labelled: int


def prediction_powered(
    judged: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike,
    inclusion: ArrayLike | None = None,
    level: float = LEVEL,
) -> Corrected:
    """The rate of all trials, from the judge's verdicts on all and people's on some.

    Args:
        judged: The judge's verdict on every trial, 0 to 1.
        labels: People's, NaN where there is none.
        clusters: The question of every trial, as numbers 0, 1, ….
        inclusion: The probability with which each trial was chosen for labelling; equal if none are given.
        level: Of confidence.

    Raises:
        ValueError: Fewer than two questions are labelled, so that nothing can be corrected.
    """
    f, y, groups = np.asarray(judged, np.float64), np.asarray(labels, np.float64), np.asarray(clusters, np.int64)
    known = np.isfinite(y)
    if len(np.unique(groups[known])) < 2:
        raise ValueError("labels of at least two questions are needed to correct a judge")
    weights = np.where(known, 1.0 if inclusion is None else 1.0 / np.asarray(inclusion, np.float64), 0.0)
    weights *= len(f) / weights.sum()
    y = np.where(known, y, 0.0)
    label_part = _per_cluster(weights * (y - np.average(y, weights=weights)), groups)
    judge_part = _per_cluster((f - f.mean()) - weights * (f - np.average(f, weights=weights)), groups)
    power = _best_power(label_part, judge_part)
    rate = power * f.mean() + float(np.average(y - power * f, weights=weights))
    parts = label_part + power * judge_part
    as_many = weights.sum() ** 2 / (weights @ weights)  # equally weighted labels that would tell as much (Kish)
    questions = len(np.unique(groups[known]))
    variance = (float(parts @ parts) / len(f) ** 2 + _UNSEEN / as_many**2) * questions / (questions - 1)
    inside = min(1.0, max(0.0, rate))
    # Wilson's interval with as many trials as would vary so much; near 0 and 1, with no fewer than were labelled.
    effective = max(inside * (1 - inside) / variance, min(as_many, questions))
    return Corrected(wilson(inside * effective, effective, level), power, int(known.sum()))


def rogan_gladen(positive: float, sensitivity: float, specificity: float) -> float:
    """The true rate behind an observed one, from the judge's error rates: a check on the correction above.

    NaN where the judge is no better than a coin, since nothing can then be told.
    """
    skill = sensitivity + specificity - 1
    return min(1.0, max(0.0, (positive + specificity - 1) / skill)) if skill > 0 else math.nan


def _best_power(label_part: Floats, judge_part: Floats) -> float:
    """λ of least variance, between 0 and 1."""
    spread = float(judge_part @ judge_part)
    return min(1.0, max(0.0, -float(label_part @ judge_part) / spread)) if spread > 0 else 1.0


def _per_cluster(values: Floats, groups: NDArray[np.int64]) -> Floats:
    sums = np.zeros(groups.max() + 1)
    np.add.at(sums, groups, values)
    return sums

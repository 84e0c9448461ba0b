"""The slope of a score along a scale, e.g. of accuracy against the noise ratio."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.rates import LEVEL, UNDEFINED, Interval, student

# Slopes and standard errors up to this fraction of the largest score, per range of the scale, are rounding errors.
_ROUNDING = 1e-9


class Trend(NamedTuple):
    """A slope with its confidence interval and the one-sided p-value for a decline."""

    slope: Interval
    falls: float


def clustered_slope(
    scale: ArrayLike,
    scores: ArrayLike,
    clusters: ArrayLike,
    level: float = LEVEL,
    counts: ArrayLike | None = None,
) -> Trend:
    """Return the least-squares slope of scores along a scale, with a standard error clustered by question.

    Args:
        scale: The position of each trial on the scale.
        scores: The score of each trial.
        clusters: The question of each trial, numbered from 0.
        level: Confidence level.
        counts: Number of questions that each trial's question represents; 1 by default.
    """
    x, y = np.asarray(scale, np.float64), np.asarray(scores, np.float64)
    times = np.ones(len(x)) if counts is None else np.asarray(counts, np.float64)
    present, first, groups = np.unique(np.asarray(clusters, np.int64), return_index=True, return_inverse=True)
    x = x - ((x * times).sum() / times.sum() if len(x) else 0.0)
    spread = float((x * times) @ x)
    questions = float(times[first].sum()) if len(present) else 0.0
    if spread == 0 or questions <= 1:
        return Trend(UNDEFINED, math.nan)
    rounding = _ROUNDING * float(np.abs(y).max() / np.ptp(x))
    slope = float((x * times) @ y) / spread
    slope = slope if abs(slope) > rounding else 0.0
    mean = float((y * times).sum() / times.sum())
    parts = np.bincount(groups.reshape(-1), weights=x * (y - mean - slope * x))
    error = math.sqrt(float((parts * times[first]) @ parts) * questions / (questions - 1)) / spread
    if error <= rounding:  # the standard error is unknown if all questions have the same slope
        return Trend(Interval(slope, math.nan, math.nan), math.nan)
    freedom = questions - 1
    reach = student(level, freedom) * error
    return Trend(Interval(slope, slope - reach, slope + reach), float(scipy.special.stdtr(freedom, slope / error)))

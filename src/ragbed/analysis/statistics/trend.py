"""How a score moves along a scale, as accuracy along the noise ratio."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # loads scipy.special, which takes 0.2 s, on first use
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.rates import LEVEL, Interval, two_sided

_NOTHING = 1e-9
"""Relative to the slope: what rounding leaves of no error at all."""


class Trend(NamedTuple):
    """A slope with its interval, and the one-sided p of its falling."""

    slope: Interval
    falls: float


def clustered_slope(
    scale: ArrayLike,
    scores: ArrayLike,
    clusters: ArrayLike,
    level: float = LEVEL,
    counts: ArrayLike | None = None,
) -> Trend:
    """Least-squares slope of scores on a scale; its error allows for trials of one question being alike.

    Args:
        scale: Of every trial.
        scores: Of every trial.
        clusters: The question of every trial, as numbers 0, 1, ….
        level: Of confidence.
        counts: How many questions the trial's question stands for, where equal ones are told once.
    """
    x, y = np.asarray(scale, np.float64), np.asarray(scores, np.float64)
    times = np.ones(len(x)) if counts is None else np.asarray(counts, np.float64)
    present, first, groups = np.unique(np.asarray(clusters, np.int64), return_index=True, return_inverse=True)
    x = x - ((x * times).sum() / times.sum() if len(x) else 0.0)
    spread = float((x * times) @ x)
    questions = float(times[first].sum()) if len(present) else 0.0
    if spread == 0 or questions <= 1:
        return Trend(Interval(math.nan, math.nan, math.nan), math.nan)
    if float(np.ptp(y)) == 0:  # what rounding would leave of nothing is no trend
        return Trend(Interval(0.0, math.nan, math.nan), math.nan)
    slope = float((x * times) @ y) / spread
    mean = float((y * times).sum() / times.sum())
    parts = np.bincount(groups.reshape(-1), weights=x * (y - mean - slope * x))
    error = math.sqrt(float((parts * times[first]) @ parts) * questions / (questions - 1)) / spread
    if error <= _NOTHING * abs(slope):  # questions that all move alike cannot tell how far the truth may be
        return Trend(Interval(slope, math.nan, math.nan), math.nan)
    reach = two_sided(level) * error
    return Trend(Interval(slope, slope - reach, slope + reach), float(scipy.special.ndtr(slope / error)))

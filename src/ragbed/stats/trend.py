"""How a score moves along a scale, as accuracy along the noise ratio."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ragbed.stats.rates import LEVEL, Interval, two_sided

_NOTHING = 1e-9
"""Relative to the slope: what rounding leaves of no error at all."""


class Trend(NamedTuple):
    """A slope with its interval, and the one-sided p of its falling."""

    slope: Interval
    falls: float


def clustered_slope(scale: ArrayLike, scores: ArrayLike, clusters: ArrayLike, level: float = LEVEL) -> Trend:
    """Least-squares slope of scores on a scale; its error allows for trials of one question being alike.

    Args:
        scale: Of every trial.
        scores: Of every trial.
        clusters: The question of every trial, as numbers 0, 1, ….
        level: Of confidence.
    """
    x, y = np.asarray(scale, np.float64), np.asarray(scores, np.float64)
    groups = np.asarray(clusters, np.int64)
    x = x - (x.mean() if len(x) else 0.0)
    spread = float(x @ x)
    if spread == 0 or groups.max(initial=0) == 0:
        return Trend(Interval(math.nan, math.nan, math.nan), math.nan)
    if float(np.ptp(y)) == 0:  # what rounding would leave of nothing is no trend
        return Trend(Interval(0.0, math.nan, math.nan), math.nan)
    slope = float(x @ y) / spread
    parts = np.bincount(groups, weights=x * (y - y.mean() - slope * x))
    error = math.sqrt(float(parts @ parts) * len(parts) / (len(parts) - 1)) / spread
    if error <= _NOTHING * abs(slope):  # questions that all move alike cannot tell how far the truth may be
        return Trend(Interval(slope, math.nan, math.nan), math.nan)
    reach = two_sided(level) * error
    return Trend(Interval(slope, slope - reach, slope + reach), float(special.ndtr(slope / error)))

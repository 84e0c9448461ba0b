"""Exact coverage of intervals, summed over all outcomes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.statistics.testing import probabilities

SHARES = np.arange(1, 100) / 100


def coverage(intervals: Sequence[Interval]) -> NDArray[np.float64]:
    """Return the coverage at every share, given the interval of every number of hits 0 … n."""
    low, high = (np.array([getattr(interval, side) for interval in intervals]) for side in ("low", "high"))
    n = len(intervals) - 1
    return np.array([probabilities(n, share)[(low <= share) & (share <= high)].sum() for share in SHARES])


def has_room(n: int) -> NDArray[np.bool_]:
    """Return the shares at which at least five hits and five misses are expected."""
    return np.asarray(np.minimum(n * SHARES, n * (1 - SHARES)) >= 5 - 1e-9)

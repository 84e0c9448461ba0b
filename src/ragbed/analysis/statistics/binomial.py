"""What follows exactly from the binomial distribution."""

from __future__ import annotations

import math

import numpy as np
import scipy  # loads scipy.special, which takes 0.2 s, on first use
from numpy.typing import NDArray

from ragbed.analysis.statistics.rates import LEVEL, Interval

Floats = NDArray[np.float64]


def clopper_pearson(hits: int, n: int, level: float = LEVEL) -> Interval:
    """The exact interval of hits among n trials: covers at least as often as it says, and is wide for that.

    Raises:
        ValueError: There is no trial, or more hits than trials.
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} hits among {n} trials make no rate")
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(scipy.special.betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(scipy.special.betaincinv(hits + 1, n - hits, 1 - tail))
    return Interval(hits / n, low, high)


def upper_bound(hits: int, n: int, level: float = LEVEL) -> float:
    """The share that hits among n trials leave likely at the most: Clopper and Pearson's, one-sided; 0 of 59 → 0.0495.

    Raises:
        ValueError: There is no trial, or more hits than trials.
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} hits among {n} trials make no rate")
    return 1.0 if hits == n else float(scipy.special.betaincinv(hits + 1, n - hits, level))


def trials_for_bound(hits: int, share: float, level: float = LEVEL) -> int:
    """The fewest trials with so many hits whose upper bound is a share, or less: 0 and 0.05 → 59."""
    low, high = hits, 2 * hits + 2
    while upper_bound(hits, high, level) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if upper_bound(hits, middle, level) <= share else (middle, high)
    return high


def probabilities(n: int, share: float) -> Floats:
    """The probability of 0, 1, … n hits."""
    hits = np.arange(n + 1)
    if share in (0, 1):
        return np.asarray(hits == n * share, dtype=np.float64)
    ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(hits + 1) - scipy.special.gammaln(n - hits + 1)
    return np.asarray(np.exp(ways + hits * math.log(share) + (n - hits) * math.log1p(-share)), np.float64)


def lower_tail(hits: float, n: float, share: float) -> float:
    """The probability of so few hits, or fewer, among n trials; between whole numbers it is continued smoothly."""
    return 1.0 if hits >= n else float(scipy.special.betainc(n - hits, hits + 1, 1 - share))


def sign_test(wins: NDArray[np.int64] | int, losses: NDArray[np.int64] | int) -> Floats:
    """Two-sided p of so many wins and losses if both were equally likely."""
    rarer = np.asarray(np.minimum(wins, losses), np.float64)
    return np.asarray(np.minimum(1.0, 2 * scipy.special.bdtr(rarer, np.add(wins, losses), 0.5)), np.float64)

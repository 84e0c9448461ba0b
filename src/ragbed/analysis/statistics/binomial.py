"""Exact confidence bounds and tests for the binomial distribution."""

from __future__ import annotations

import math

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import NDArray

from ragbed.analysis.statistics.rates import LEVEL, check_rate

Floats = NDArray[np.float64]


def upper_bound(hits: int, n: int, level: float = LEVEL) -> float:
    """Return the one-sided Clopper-Pearson upper bound for a rate, e.g. 0.0495 for 0 hits in 59 trials.

    Raises:
        ValueError: The counts do not form a valid rate.
    """
    check_rate(hits, n)
    return 1.0 if hits == n else float(scipy.special.betaincinv(hits + 1, n - hits, level))


def trials_for_bound(hits: int, share: float, level: float = LEVEL) -> int:
    """Return the minimum number of trials for an upper confidence bound of at most `share`.

    For example, 0 hits and a share of 0.05 require 59 trials.
    """
    low, high = hits, 2 * hits + 2
    while upper_bound(hits, high, level) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if upper_bound(hits, middle, level) <= share else (middle, high)
    return high


def probabilities(n: int, share: float) -> Floats:
    """Return the probabilities of 0, 1, …, n hits."""
    hits = np.arange(n + 1)
    if share in (0, 1):
        return np.asarray(hits == n * share, dtype=np.float64)
    ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(hits + 1) - scipy.special.gammaln(n - hits + 1)
    return np.asarray(np.exp(ways + hits * math.log(share) + (n - hits) * math.log1p(-share)), np.float64)


def lower_tail(hits: float, n: float, share: float) -> float:
    """Return the probability of at most `hits` hits in n trials, interpolated smoothly for fractional counts."""
    return 1.0 if hits >= n else float(scipy.special.betainc(n - hits, hits + 1, 1 - share))


def sign_test(wins: NDArray[np.int64] | int, losses: NDArray[np.int64] | int) -> Floats:
    """Return the two-sided p-value for wins and losses under the null hypothesis that both are equally likely."""
    rarer = np.asarray(np.minimum(wins, losses), np.float64)
    return np.asarray(np.minimum(1.0, 2 * scipy.special.bdtr(rarer, np.add(wins, losses), 0.5)), np.float64)

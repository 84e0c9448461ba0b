"""Tests for two groups of different questions, or for published rates."""

from __future__ import annotations

import math
from statistics import NormalDist


def two_proportions(first: int, n_first: int, second: int, n_second: int) -> float:
    """Return the two-sided p value from the pooled two-proportion z test."""
    pooled = (first + second) / (n_first + n_second)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    return 2 * NormalDist().cdf(-abs(first / n_first - second / n_second) / error) if error else 1.0


def fisher(first: int, n_first: int, second: int, n_second: int) -> float:
    """Return the two-sided p value from Fisher's exact test."""
    hits = first + second
    range_of_first = range(max(0, hits - n_second), min(n_first, hits) + 1)
    ways = {x: math.comb(n_first, x) * math.comb(n_second, hits - x) for x in range_of_first}
    return sum(way for way in ways.values() if way <= ways[first]) / math.comb(n_first + n_second, hits)

"""Two groups of different questions, or published rates of which no more is known than their margins."""

from __future__ import annotations

import math
from statistics import NormalDist


def two_proportions(first: int, n_first: int, second: int, n_second: int) -> float:
    """The pooled two-proportion z test, two-sided."""
    pooled = (first + second) / (n_first + n_second)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    if error == 0:
        return 1.0
    return 2 * NormalDist().cdf(-abs(first / n_first - second / n_second) / error)


def fisher(first: int, n_first: int, second: int, n_second: int) -> float:
    """Fisher's exact test, two-sided: the probability of all tables with these margins that are no likelier."""
    hits = first + second
    range_of_first = range(max(0, hits - n_second), min(n_first, hits) + 1)
    ways = {x: math.comb(n_first, x) * math.comb(n_second, hits - x) for x in range_of_first}
    return sum(way for way in ways.values() if way <= ways[first]) / math.comb(n_first + n_second, hits)

"""Tests and intervals for groups of different questions, or for published rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from ragbed.analysis.statistics.rates import Interval


def two_proportions(first: int, n_first: int, second: int, n_second: int) -> float:
    """Return the two-sided p-value from the pooled two-proportion z test."""
    pooled = (first + second) / (n_first + n_second)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    return 2 * NormalDist().cdf(-abs(first / n_first - second / n_second) / error) if error else 1.0


def fisher(first: int, n_first: int, second: int, n_second: int) -> float:
    """Return the two-sided p-value from Fisher's exact test."""
    hits = first + second
    range_of_first = range(max(0, hits - n_second), min(n_first, hits) + 1)
    ways = {x: math.comb(n_first, x) * math.comb(n_second, hits - x) for x in range_of_first}
    return sum(way for way in ways.values() if way <= ways[first]) / math.comb(n_first + n_second, hits)


def combine_rates(rates: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Return a weighted sum of rates for different questions, with an interval computed from the rates' intervals.

    The bounds follow Zou and Donner (2008, MOVER). If the rates are positively correlated, and the weights have
    different signs, the interval is too wide rather than too narrow.
    """
    value = math.fsum(weight * rate.value for rate, weight in zip(rates, weights, strict=True))
    below = above = 0.0
    for (rate, low, high), weight in zip(rates, weights, strict=True):
        down, up = (rate - low, high - rate) if weight > 0 else (high - rate, rate - low)
        below, above = below + (weight * down) ** 2, above + (weight * up) ** 2
    return Interval(value, value - math.sqrt(below), value + math.sqrt(above))

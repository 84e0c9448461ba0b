"""Intervals of a rate in closed form, so that a first table needs no numerical library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
ALPHA = 0.05


class Interval(NamedTuple):
    """An estimate with the bounds of its interval; bounds that cannot be had are NaN."""

    value: float
    low: float
    high: float


@cache
def quantile(share: float) -> float:
    """The standard normal's quantile."""
    return NormalDist().inv_cdf(share)


def two_sided(level: float) -> float:
    """How many standard errors an interval of a level reaches to each side."""
    return quantile(0.5 + level / 2)


def clustered_mean(totals: Sequence[float], counts: Sequence[float], level: float = LEVEL) -> Interval:
    """The mean of any quantity, as tokens or seconds, with its normal interval by clusters.

    Args:
        totals: Of every cluster, the sum.
        counts: Trials of every cluster.
        level: Of confidence.
    """
    clusters, trials = len(counts), sum(counts)
    mean = sum(totals) / trials
    spread = sum((total - mean * n) ** 2 for total, n in zip(totals, counts, strict=True))
    if clusters < 2 or spread <= 1e-18 * (mean * trials) ** 2:  # all alike: they cannot tell how far the truth may be
        return Interval(mean, math.nan, math.nan)
    reach = two_sided(level) * math.sqrt(spread * clusters / (clusters - 1)) / trials
    return Interval(mean, mean - reach, mean + reach)


def wilson(hits: float, n: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval of hits among n independent trials.

    Args:
        hits: Sum of the scores; a fraction where scores are graded.
        n: Number of trials, or the effective number where they are not independent.
        level: Of confidence.

    Raises:
        ValueError: There is no trial, or more hits than trials.
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} hits among {n} trials make no rate")
    z, share = two_sided(level), hits / n
    shrink = 1 + z * z / n
    middle = (share + z * z / (2 * n)) / shrink
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrink
    # At the ends rounding would leave a bound a hair inside.
    return Interval(share, 0.0 if hits == 0 else middle - reach, 1.0 if hits == n else middle + reach)


def trials_behind(interval: Interval, level: float = LEVEL) -> float | None:
    """The number of independent trials that an interval of Wilson's shows; None where it is none of his."""
    share, low, high = interval
    reach, bound = max((abs(bound - share), bound) for bound in (low, high))
    if not (0 <= share <= 1 and 0 < bound < 1 and reach > 0):
        return None
    trials = two_sided(level) ** 2 * bound * (1 - bound) / reach**2
    again = wilson(share * trials, trials, level)
    return trials if math.isclose(again.low, low, abs_tol=1e-9) and math.isclose(again.high, high) else None


def clustered_wilson(
    hits: Sequence[float], asked: Sequence[float], level: float = LEVEL, counts: Sequence[int] | None = None
) -> Interval:
    """Wilson's interval where trials come in clusters, as the same question asked in several ways.

    The number of trials is replaced by the number of independent ones that would vary as much (trials over the
    design effect). Where every cluster scores alike, the design effect cannot be seen and clusters count as trials.

    Args:
        hits: Of every cluster.
        asked: Trials of every cluster.
        level: Of confidence.
        counts: How many clusters each of these stands for, where equal ones are told once.
    """
    counts = [1] * len(asked) if counts is None else counts
    clusters, trials, total = sum(counts), _total(asked, counts), _total(hits, counts)
    if clusters == trials:
        return wilson(total, trials, level)
    share = total / trials
    spread = sum(count * (hit - share * n) ** 2 for hit, n, count in zip(hits, asked, counts, strict=True))
    effective = float(clusters)
    if spread > 0 and clusters > 1 and 0 < share < 1:
        effective = share * (1 - share) * trials**2 / (spread * clusters / (clusters - 1))
    interval = wilson(share * effective, effective, level)
    return interval._replace(value=share)


def _total(values: Sequence[float], counts: Sequence[int]) -> float:
    return sum(value * count for value, count in zip(values, counts, strict=True))

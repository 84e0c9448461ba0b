"""Closed-form intervals of rates and means. This module imports no numerical library, for a fast first table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
ALPHA = 0.05


class Interval(NamedTuple):
    """An estimate with the bounds of its interval. Undefined bounds are NaN."""

    value: float
    low: float
    high: float


UNDEFINED = Interval(math.nan, math.nan, math.nan)


@cache
def quantile(share: float) -> float:
    """Return a quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


def two_sided(level: float) -> float:
    """Return the half-width of a two-sided normal interval, in standard errors."""
    return quantile(0.5 + level / 2)


def check_rate(hits: float, n: float) -> None:
    """Check that a number of hits and a number of trials make a rate.

    Raises:
        ValueError: There are no trials, negative hits, or more hits than trials.
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"{hits} hits in {n} trials is not a rate")


def clustered_mean(totals: Sequence[float], counts: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the mean of a quantity, e.g. tokens or seconds, with its normal interval by clusters.

    Args:
        totals: Sum of each cluster.
        counts: Trials of each cluster.
        level: Confidence level.
    """
    clusters, trials = len(counts), sum(counts)
    mean = sum(totals) / trials
    spread = sum((total - mean * n) ** 2 for total, n in zip(totals, counts, strict=True))
    if clusters < 2 or spread <= 1e-18 * (mean * trials) ** 2:  # data without variation give no interval
        return Interval(mean, math.nan, math.nan)
    reach = two_sided(level) * math.sqrt(spread * clusters / (clusters - 1)) / trials
    return Interval(mean, mean - reach, mean + reach)


def wilson(hits: float, n: float, level: float = LEVEL) -> Interval:
    """Return Wilson's score interval for hits in n independent trials.

    Args:
        hits: Sum of the scores; a fraction if scores are graded.
        n: Number of trials, or the effective number if they are not independent.
        level: Confidence level.

    Raises:
        ValueError: The counts are not a rate.
    """
    check_rate(hits, n)
    z, share = two_sided(level), hits / n
    shrink = 1 + z * z / n
    middle = (share + z * z / (2 * n)) / shrink
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrink
    # Rounding would place the bounds at 0 and 1 slightly inside the range.
    return Interval(share, 0.0 if hits == 0 else middle - reach, 1.0 if hits == n else middle + reach)


def trials_behind(interval: Interval, level: float = LEVEL) -> float | None:
    """Return the number of independent trials that gives a Wilson interval, or None if it is not one."""
    share, low, high = interval
    reach, bound = max((abs(bound - share), bound) for bound in (low, high))
    if not (0 <= share <= 1 and 0 < bound < 1 and reach > 0):
        return None
    trials = two_sided(level) ** 2 * bound * (1 - bound) / reach**2
    again = wilson(share * trials, trials, level)
    return trials if math.isclose(again.low, low, abs_tol=1e-9) and math.isclose(again.high, high) else None


def clustered_wilson(
    hits: Sequence[float], trials: Sequence[float], level: float = LEVEL, counts: Sequence[int] | None = None
) -> Interval:
    """Return Wilson's interval for trials in clusters, e.g. several variants of one question.

    The number of trials is divided by the design effect: it becomes the number of independent trials with the same
    variance. If every cluster has the same score, the design effect is unknown and each cluster counts as one trial.

    Args:
        hits: Hits of each cluster.
        trials: Trials of each cluster.
        level: Confidence level.
        counts: How many clusters each entry represents; 1 by default.
    """
    counts = [1] * len(trials) if counts is None else counts
    clusters, n, total = sum(counts), _weighted_sum(trials, counts), _weighted_sum(hits, counts)
    if clusters == n:
        return wilson(total, n, level)
    share = total / n
    spread = sum(count * (hit - share * size) ** 2 for hit, size, count in zip(hits, trials, counts, strict=True))
    effective = float(clusters)
    if spread > 0 and clusters > 1 and 0 < share < 1:
        effective = share * (1 - share) * n**2 / (spread * clusters / (clusters - 1))
    return wilson(share * effective, effective, level)._replace(value=share)


def _weighted_sum(values: Sequence[float], counts: Sequence[int]) -> float:
    return sum(value * count for value, count in zip(values, counts, strict=True))

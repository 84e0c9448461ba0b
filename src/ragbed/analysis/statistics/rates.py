"""Closed-form confidence intervals for rates and means.

They need no numerical libraries, so the first table appears quickly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import starmap
from operator import mul
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
ALPHA = 0.05
# Factor for the degrees of freedom, chosen by simulation. With a factor of 4, gates fail too often if two or three
# events have many questions.
_SATTERTHWAITE = 2.5


class Interval(NamedTuple):
    """An estimate with the bounds of its confidence interval. Undefined bounds are NaN."""

    value: float
    low: float
    high: float

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The two bounds, with None for undefined ones."""
        low, high = (bound if math.isfinite(bound) else None for bound in (self.low, self.high))
        return low, high


UNDEFINED = Interval(math.nan, math.nan, math.nan)


@cache
def quantile(share: float) -> float:
    """Return a quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


def two_sided(level: float) -> float:
    """Return the half-width of a two-sided normal interval in standard errors."""
    return quantile(0.5 + level / 2)


@lru_cache(maxsize=10_000)
def student(level: float, freedom: float) -> float:
    """Return the half-width of a two-sided Student's t interval in standard errors (Hill, 1970).

    Args:
        level: Confidence level.
        freedom: Degrees of freedom, at least 1; need not be a whole number.
    """
    tail = 1 - level
    if freedom <= 1:
        return 1 / math.tan(tail * math.pi / 2)
    a = 1 / (freedom - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * freedom
    y = (d * tail) ** (2 / freedom)
    if y > 0.05 + a:  # the distribution is close to normal
        x = -two_sided(level)
        y = x * x
        c += 0.3 * (freedom - 4.5) * (x + 0.6) if freedom < 5 else 0.0
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        return math.sqrt(freedom * math.expm1(a * y * y))
    slope = 1 / (((freedom + 6) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2) * 3) + 0.5 / (freedom + 4)
    return math.sqrt(freedom * ((slope * y - 1) * (freedom + 1) / (freedom + 2) + 1 / y))


def check_rate(hits: float, n: float) -> None:
    """Check that a number of hits and a number of trials form a valid rate.

    Raises:
        ValueError: There are no trials, or the number of hits is negative or exceeds the number of trials.
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(
            f"{hits} hits in {n} trials is not a valid rate: the number of hits must be between 0 and the number of "
            "trials, which must be positive"
        )


def clustered_mean(totals: Sequence[float], counts: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the mean of a quantity, e.g. tokens or seconds, with its t interval, clustered by question.

    Args:
        totals: Sum for each cluster.
        counts: Number of trials in each cluster.
        level: Confidence level.
    """
    clusters, trials = len(counts), sum(counts)
    mean = sum(totals) / trials
    spread = sum((total - mean * n) ** 2 for total, n in zip(totals, counts, strict=True))
    if clusters < 2 or spread <= 1e-18 * (mean * trials) ** 2:  # no interval can be computed if the data do not vary
        return Interval(mean, math.nan, math.nan)
    reach = student(level, clusters - 1) * math.sqrt(spread * clusters / (clusters - 1)) / trials
    return Interval(mean, mean - reach, mean + reach)


def wilson(hits: float, n: float, level: float = LEVEL) -> Interval:
    """Return Wilson's score interval for a number of hits in n independent trials.

    Args:
        hits: Sum of the scores; may be fractional if scores are graded.
        n: Number of trials, or the effective number if they are not independent.
        level: Confidence level.

    Raises:
        ValueError: The counts do not form a valid rate.
    """
    check_rate(hits, n)
    z, share = two_sided(level), hits / n
    shrink = 1 + z * z / n
    middle = (share + z * z / (2 * n)) / shrink
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrink
    # Set bounds of 0 and 1 explicitly, because rounding would move them slightly inside the range.
    return Interval(share, 0.0 if hits == 0 else middle - reach, 1.0 if hits == n else middle + reach)


def trials_behind(interval: Interval, level: float = LEVEL) -> float | None:
    """Return the number of trials for which `wilson` gives this interval, or None if there is no such number."""
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
    """Return Wilson's interval for clustered trials, e.g. several variants of one question.

    The number of trials is divided by the design effect, which gives the number of independent trials with the same
    variance, at most the actual number of trials. Student's t replaces the normal quantile.
    `python -m benches stats_coverage` shows the coverage.

    Args:
        hits: Number of hits in each cluster.
        trials: Number of trials in each cluster; clusters without trials are ignored.
        level: Confidence level.
        counts: Number of clusters that each entry represents; 1 by default.

    Raises:
        ValueError: There are no trials.
    """
    counts = [1] * len(trials) if counts is None else counts
    n, total = _weighted_sum(trials, counts), _weighted_sum(hits, counts)
    check_rate(total, n)
    size = _weighted_sum([trial * trial for trial in trials], counts) / n  # mean cluster size, weighted by trials
    effect = _design_effect(hits, trials, counts, size)
    freedom = _freedom(trials, counts, min(1.0, (effect - 1) / (size - 1)) if size > 1 else 0.0)
    # Wilson's interval depends on the quantile z and on n only through z² / n, so reducing n is equivalent to
    # replacing z with Student's t.
    effective = n / (effect * (student(level, freedom) / two_sided(level)) ** 2)
    share = min(1.0, total / n)
    return wilson(share * effective, effective, level)._replace(value=share)


def _freedom(trials: Sequence[float], counts: Sequence[int], correlation: float) -> float:
    """Return the design effect's degrees of freedom, which never exceed the number of clusters.

    Satterthwaite's number is the number of clusters if all have the same size, and about the number of the largest ones
    if the trials of a cluster agree. The second estimate of the design effect varies less than the number assumes.
    """
    clusters = sum(count for trial, count in zip(trials, counts, strict=True) if trial)
    variances = [trial * (1 + (trial - 1) * correlation) for trial in trials]
    squares = _weighted_sum([variance * variance for variance in variances], counts)
    return max(1.0, min(clusters, _SATTERTHWAITE * _weighted_sum(variances, counts) ** 2 / squares))


def _design_effect(hits: Sequence[float], trials: Sequence[float], counts: Sequence[int], size: float) -> float:
    """Return the design effect (at least 1): the variance of a clustered rate relative to that of independent trials.

    There are two estimates, and the larger one is used: the spread of the clusters around the mean, which is valid for
    all designs, and the spread that follows from how often two trials of one cluster disagree. For clusters of equal
    size they are the same. If a few clusters are much larger than the others, the first estimate is far too small
    whenever these few happen to agree.

    If all trials have the same result, the effect is unknown. Therefore, one cluster that is entirely right and one
    that is entirely wrong are added. Their weight is 1 in this case and decreases with the count of the rarer
    result.
    """
    n, total = _weighted_sum(trials, counts), _weighted_sum(hits, counts)
    added = size / (1 + max(0.0, min(total, n - total)) / size)  # the number of trials in each added cluster
    n += 2 * added
    share = (total + added) / n
    variance = share * (1 - share)
    cells = list(zip(hits, trials, strict=True))
    around = _weighted_sum([(hit - share * trial) ** 2 for hit, trial in cells], counts)
    squares = _weighted_sum([trial * trial for trial in trials], counts) + 2 * added * size
    disagreeing = _weighted_sum([hit * (trial - hit) for hit, trial in cells], counts)
    spread = max(around + added * size * (1 - 2 * variance), squares * variance - disagreeing)
    return max(1.0, spread / (n * variance))


def _weighted_sum(values: Sequence[float], counts: Sequence[int]) -> float:
    # The sum is exact, so the order of the clusters does not affect the last digit.
    return math.fsum(starmap(mul, zip(values, counts, strict=True)))

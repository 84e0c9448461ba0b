"""Closed-form confidence intervals for rates, sums of rates and means.

They load `scipy.special` on first use, because this takes 0.2 s.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
ALPHA = 0.05
# Factor for the degrees of freedom, chosen by simulation. With a factor of 4, gates fail too often if two or three
# events have many questions.
_SATTERTHWAITE = 2.5
# With fewer hits or misses than this, an interval also contains Clopper and Pearson's, because Wilson's alone contains
# the true rate in as little as 84% of samples.
_FEW = 5
# Minimum variance of a sum of graded scores, relative to the square of the mean cluster size. Chosen by simulation:
# without it, the coverage drops to 65% if nearly every cluster has the same score, as for a model that always refuses.
_LEAST_VARIANCE = 0.6


# The powers of hits and trials in the sums over clusters (`_ClusterSums`).
_POWERS = ((1, 0), (2, 0), (1, 1), (0, 1), (0, 2), (0, 3), (0, 4), (0, 0))


class Interval(NamedTuple):
    """An estimate with the bounds of its confidence interval. Undefined bounds are NaN."""

    value: float
    low: float
    high: float

    @property
    def defined(self) -> tuple[float | None, float | None, float | None]:
        """The value and the two bounds, with None for undefined ones."""
        value, low, high = (float(number) if math.isfinite(number) else None for number in self)
        return value, low, high

    def without_bounds(self) -> Interval:
        """Return the value alone, e.g. for a run that could stop at any time, where ordinary bounds are not valid."""
        return self._replace(low=math.nan, high=math.nan)


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
    """Return the half-width of a two-sided Student's t interval in standard errors.

    Args:
        level: Confidence level.
        freedom: Degrees of freedom, at least 1; need not be a whole number.
    """
    from scipy import special  # noqa: PLC0415

    return float(special.stdtrit(freedom, 0.5 + level / 2))


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


def clopper_pearson(hits: float, n: float, level: float = LEVEL) -> Interval:
    """Return the exact interval for a number of hits in n independent trials. Its coverage is at least `level`.

    Fractional counts are interpolated (Korn and Graubard, 1998).

    Raises:
        ValueError: The counts do not form a valid rate.
    """
    check_rate(hits, n)
    tail = (1 - level) / 2
    if hits in (0, n):
        limit = tail ** (1 / n)
        return Interval(0.0, 0.0, 1 - limit) if hits == 0 else Interval(1.0, limit, 1.0)
    from scipy import special  # noqa: PLC0415

    low, high = special.betaincinv(hits, n - hits + 1, tail), special.betaincinv(hits + 1, n - hits, 1 - tail)
    return Interval(hits / n, float(low), float(high))


def share_interval(share: float, n: float, freedom: float, level: float = LEVEL) -> Interval:
    """Return the interval for a share of n independent trials, where n may be fractional.

    It is Wilson's, with Student's t instead of the normal quantile, or, for few hits or misses, the smallest interval
    that contains both Wilson's and the exact one.

    Args:
        share: The share.
        n: The number of independent trials.
        freedom: Degrees of freedom.
        level: Confidence level.
    """
    # Wilson's interval depends on the quantile z and on n only through z² / n, so reducing n is equivalent to replacing
    # z with Student's t.
    reduced = n / (student(level, freedom) / two_sided(level)) ** 2
    found = wilson(share * reduced, reduced, level)
    if min(share, 1 - share) * n < _FEW:
        exact = clopper_pearson(share * n, n, level)
        found = Interval(share, min(found.low, exact.low), max(found.high, exact.high))
    return found._replace(value=share)


def trials_behind(interval: Interval, freedom: float, level: float = LEVEL) -> float:
    """Return the number of independent trials for which `share_interval` has the same upper bound, which is below 1."""
    low, high = 1e-6, 1e12
    while high / low > 1 + 1e-12:
        middle = math.sqrt(low * high)
        is_wider = share_interval(interval.value, middle, freedom, level).high > interval.high
        low, high = (middle, high) if is_wider else (low, middle)
    return low


def clustered_wilson(
    hits: Sequence[float], trials: Sequence[float], level: float = LEVEL, *, is_graded: bool = False
) -> Interval:
    """Return the interval for a ratio of two sums over clusters, e.g. over the variants of each question.

    It is `share_interval` with the number of independent trials that have the same variance, given by the design
    effect. The bounds never exclude more than they would if there were no hits, or no misses, so another hit never
    lowers the upper bound to below that of no hits.
    `python -m benches stats_coverage` shows the coverage.

    Args:
        hits: Sum of the scores in each cluster; at most its number of trials.
        trials: Number of trials in each cluster, or the sum of their weights; clusters without trials are ignored.
        level: Confidence level.
        is_graded: Whether the scores can vary less than verdicts of independent trials, because they are fractions or
            because the trials of a cluster belong to different conditions.

    Raises:
        ValueError: There are no trials.
    """
    used = [(hit, trial, count) for (hit, trial), count in Counter(zip(hits, trials, strict=True)).items() if trial]
    sums = _ClusterSums(*(math.fsum(n * h**power * t**other for h, t, n in used) for power, other in _POWERS))
    check_rate(sums.hits, sums.trials)
    share = min(1.0, sums.hits / sums.trials)
    found = share_interval(share, *sums.independent_trials(is_graded=is_graded), level)
    none = sums._replace(hits=0.0, squares=0.0, products=0.0).independent_trials(is_graded=is_graded)
    limit = share_interval(0.0, *none, level).high
    return Interval(share, min(found.low, 1 - limit), max(found.high, limit))


class _ClusterSums(NamedTuple):
    """Sums over clusters of h, h², ht, t, t², t³ and t⁴, for h hits in t trials, and the number of clusters."""

    hits: float
    squares: float
    products: float
    trials: float
    trials2: float
    trials3: float
    trials4: float
    clusters: float

    def independent_trials(self, *, is_graded: bool) -> tuple[float, float]:
        """Return the number of independent trials that give a rate the same variance, and the degrees of freedom."""
        size = self.trials2 / self.trials  # mean cluster size, weighted by trials
        effect = self._design_effect(size, is_graded=is_graded)
        # Satterthwaite's degrees of freedom are the number of clusters if all have the same size, and about the number
        # of the largest ones if the trials of a cluster agree.
        rho = min(1.0, max(0.0, (effect - 1) / (size - 1))) if size > 1 else 0.0
        variance = self.trials + rho * (self.trials2 - self.trials)
        spread = (1 - rho) ** 2 * self.trials2 + 2 * rho * (1 - rho) * self.trials3 + rho**2 * self.trials4
        return self.trials / effect, max(1.0, min(self.clusters, _SATTERTHWAITE * variance**2 / spread))

    def _design_effect(self, size: float, *, is_graded: bool) -> float:
        """Return the variance of a clustered rate relative to that of independent verdicts; unless graded, at least 1.

        There are two estimates, and the larger one is used: the spread of the clusters around the mean, which is valid
        for all designs, and the spread that follows from how often two trials of one cluster disagree. For clusters of
        equal size they are the same. If a few clusters are much larger than the others, the first estimate is far too
        small whenever these few happen to agree.

        If all trials have the same result, the effect is unknown. Therefore, one cluster that is entirely right and
        one that is entirely wrong are added. Their weight is 1 in this case and decreases with the count of the rarer
        result.
        """
        rarer = max(0.0, min(self.hits, self.trials - self.hits))
        added = size / (1 + rarer / size)  # the number of trials in each added cluster
        n = self.trials + 2 * added
        share = (self.hits + added) / n
        variance = share * (1 - share)
        around = self.squares - 2 * share * self.products + share**2 * self.trials2 + added * size * (1 - 2 * variance)
        disagreeing = (self.trials2 + 2 * added * size) * variance - self.products + self.squares
        return max(around, disagreeing, _LEAST_VARIANCE * size**2 if is_graded else n * variance) / (n * variance)


def combine_rates(rates: Sequence[Interval], weights: Sequence[float], correlation: float = 0.0) -> Interval:
    """Return a weighted sum of rates with an interval computed from the rates' intervals.

    The bounds follow Zou and Donner (2008, MOVER). For two rates and the weights 1 and −1, they are Newcombe's (1998).

    Args:
        rates: The rates.
        weights: Their weights.
        correlation: The correlation of each pair of estimates.
    """
    value = math.fsum(weight * rate.value for rate, weight in zip(rates, weights, strict=True))
    below, above = [], []
    for (rate, low, high), weight in zip(rates, weights, strict=True):
        down, up = (rate - low, high - rate) if weight > 0 else (high - rate, rate - low)
        below.append(weight * down)
        above.append(weight * up)
    return Interval(value, value - _deviation(below, correlation), value + _deviation(above, correlation))


def _deviation(parts: Sequence[float], correlation: float) -> float:
    """Return the standard deviation of a sum whose parts have these deviations and this correlation."""
    squares = (1 - correlation) * math.fsum(part * part for part in parts) + correlation * math.fsum(parts) ** 2
    return math.sqrt(max(0.0, squares))


def ratio_interval(totals: Sequence[float], counts: Sequence[float]) -> Interval:
    """Return the ratio of two sums over clusters, e.g. tokens per correct answer, with its t interval.

    The interval is symmetric on a logarithmic scale, or on a linear one if any total is negative. It does not exist if
    all clusters have the same ratio. The degrees of freedom are half of Satterthwaite's, 2n / (κ − 1) for the kurtosis
    κ of the residuals, because a sample of a skewed quantity underestimates κ. Without this, the coverage for
    log-normal quantities is as low as 90.7%.

    Args:
        totals: Sum for each cluster.
        counts: Number of trials in each cluster, or another sum.
    """
    clusters, total, count = len(counts), math.fsum(totals), math.fsum(counts)
    ratio = total / count
    squares = [(one - ratio * n) ** 2 for one, n in zip(totals, counts, strict=True)]
    spread = math.fsum(squares)
    if clusters < 2 or spread <= 1e-18 * math.fsum(one * one for one in totals):
        return Interval(ratio, math.nan, math.nan)
    excess = max(0.0, clusters * math.fsum(square**2 for square in squares) / spread**2 - 1)  # κ − 1
    freedom = min(clusters - 1.0, max(1.0, clusters / excess)) if excess else clusters - 1.0
    reach = student(LEVEL, freedom) * math.sqrt(spread * clusters / (clusters - 1))
    if min(totals) < 0:
        return Interval(ratio, ratio - reach / count, ratio + reach / count)
    reach /= total
    return Interval(ratio, ratio * math.exp(-reach), ratio * math.exp(reach))

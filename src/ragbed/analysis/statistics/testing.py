"""Exact bounds and tests for counts and for means of bounded scores, and adjustment for multiple testing."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.rates import LEVEL, check_rate

Floats = NDArray[np.float64]
_MOST_TRIALS = 10**9  # maximum number of trials to consider


def upper_bound(hits: int, n: int) -> float:
    """Return the one-sided Clopper-Pearson upper bound for a rate, e.g. 0.0495 for 0 hits in 59 trials.

    Raises:
        ValueError: The counts do not form a valid rate.
    """
    check_rate(hits, n)
    return 1.0 if hits == n else float(scipy.special.betaincinv(hits + 1, n - hits, LEVEL))


def trials_for_bound(hits: int, share: float) -> int:
    """Return the minimum number of trials for an upper confidence bound of at most `share`.

    For example, 0 hits and a share of 0.05 require 59 trials.
    """
    sizes = range(hits + 1, _MOST_TRIALS)
    return sizes[bisect_left(sizes, True, key=lambda n: upper_bound(hits, n) <= share)]


def probabilities(n: int, share: float) -> Floats:
    """Return the probabilities of 0, 1, …, n hits."""
    hits = np.arange(n + 1)
    if share in (0, 1):
        return np.asarray(hits == n * share, dtype=np.float64)
    ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(hits + 1) - scipy.special.gammaln(n - hits + 1)
    return np.asarray(np.exp(ways + hits * math.log(share) + (n - hits) * math.log1p(-share)), np.float64)


def sign_test(wins: NDArray[np.int64] | int, losses: NDArray[np.int64] | int) -> Floats:
    """Return the two-sided p-value for wins and losses under the null hypothesis that both are equally likely."""
    rarer = np.asarray(np.minimum(wins, losses), np.float64)
    return np.asarray(np.minimum(1.0, 2 * scipy.special.bdtr(rarer, np.add(wins, losses), 0.5)), np.float64)


def holm(values: ArrayLike) -> Floats:
    """Return Holm-adjusted p-values, which control the probability of any false positive."""
    given = np.asarray(values, np.float64)
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)), 1.0)
    return adjusted


_BISECTIONS = 60  # number of bisection steps, enough to compute the saddlepoint to the last digit
_DIGITS = 12  # number of decimals to which the factors of questions are rounded, so that equal ones are grouped
_STEP, _STEPS = 0.05, 400  # grid of the numerical integral; with it, the absolute error is below 1e-12


class ClusterSums(NamedTuple):
    """The sums that give a value, by question: the value is the sum of the totals divided by the sum of the sizes.

    Attributes:
        totals: The sum of the weighted scores of each question.
        sizes: The sum of the weights of each question.
        largest: The largest possible size of a question, which must not depend on the scores.
        highest, lowest: The highest and the lowest possible value.
    """

    totals: Floats
    sizes: Floats
    largest: float
    highest: float = 1.0
    lowest: float = 0.0

    def complement(self) -> ClusterSums:
        """Return the sums that give one minus the value."""
        return self._replace(totals=self.sizes - self.totals, highest=1 - self.lowest, lowest=1 - self.highest)

    @classmethod
    def of(cls, totals: ArrayLike, sizes: ArrayLike) -> ClusterSums:
        """Return the sums of questions whose sizes do not depend on the scores."""
        weights = np.asarray(sizes, np.float64)
        return cls(np.asarray(totals, np.float64), weights, float(weights.max(initial=0.0)))

    def below_p(self, minimum: float) -> float:
        """Return the one-sided p-value of the null hypothesis that the true value is at least `minimum`.

        This is the test by Gaffke (2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
        a nonnegative variable"). One question with the highest possible value is added, all questions get random
        exponential weights as in a Bayesian bootstrap, and p is the probability that the weighted value is at least
        `minimum`. With one verdict per question, it is the exact binomial test. The weights are positive, so p never
        decreases if a score increases, however the trials of a question agree.
        """
        moved = np.append(self.totals - minimum * self.sizes, self.largest * (self.highest - minimum))
        return positive_probability(*np.unique(np.round(moved / self.largest, _DIGITS), return_counts=True))


def positive_probability(factors: ArrayLike, counts: ArrayLike) -> float:
    """Return the probability that a weighted sum of independent standard exponential variables is not negative.

    With one positive and one negative factor, it is a beta probability. Otherwise, it is the inverse Laplace transform,
    integrated along a line through the saddlepoint.

    Args:
        factors: The distinct factors.
        counts: The number of variables with each factor.
    """
    factor, count = np.asarray(factors, np.float64), np.asarray(counts, np.float64)
    positive, negative = factor > 0, factor < 0
    if not positive.any() or not negative.any():
        return float(not negative.any())
    if np.count_nonzero(positive) == np.count_nonzero(negative) == 1:
        share = float(-factor[negative][0] / (factor[positive][0] - factor[negative][0]))
        return float(scipy.special.betaincc(count[positive][0], count[negative][0], share))
    factor = factor / math.sqrt(float(count @ factor**2))
    low, high = 0.0, 1 / float(factor.max())
    least = min(1.0, high / 2)  # the line must be to the right of the pole at 0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if (count * factor / (1 - middle * factor)).sum() < 0 else (low, middle)
    places = _STEP * np.arange(_STEPS)
    line = max(low, least) + 1j * np.sinh(places)
    heights = np.cosh(places) * np.real(np.exp(-np.log(1 - np.multiply.outer(line, factor)) @ count) / line)
    return float(min(1.0, max(0.0, _STEP / math.pi * (heights.sum() - heights[0] / 2))))

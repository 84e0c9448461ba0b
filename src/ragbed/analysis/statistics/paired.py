"""Paired comparisons on the same questions: differences, intervals and tests."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson, combine_rates
from ragbed.analysis.statistics.testing import Floats, probabilities

_EXACT_SUMS = 1_000_000  # maximum number of distinct sums to enumerate
_EXACT_STEPS = 20_000_000  # maximum number of additions for the exact distribution on a lattice, about 20 ms
_DENOMINATOR = 10_000  # maximum common denominator of the differences, e.g. 60 for means of 2 to 6 verdicts
_BISECTIONS = 80  # number of bisection steps, enough to compute the saddlepoint to the last digit
_CENTRAL = 0.01  # standard normal deviate below which the normal approximation is used
_DIGITS = 12  # number of decimals to which means of verdicts are compared
_ROUNDING = 1e-9  # maximum rounding difference between sums of changes that are mathematically equal
_SMALLEST_P, _LARGEST_P = 1e-12, 0.99  # range of the p-values of `decline_test` below 1
_PRECISION = 1e-3  # relative precision of these p-values


def changes(before: ArrayLike, after: ArrayLike) -> Floats:
    """Return the change in each score, rounded so that a change is 0 if the scores are mathematically equal.

    All paired results are computed from these changes, so means of verdicts such as (1/5 + 2/5) / 2 and (3/5 + 0/5) / 2
    tie, in whatever order they were added up.
    """
    return np.asarray(np.round(np.subtract(after, before), _DIGITS) + 0.0, np.float64)  # + 0.0 turns −0.0 into 0.0


def sign_flips(differences: ArrayLike) -> float:
    """Return the two-sided p-value from the paired permutation test for graded scores.

    The test is exact for up to about a thousand differences of means (fractions with a common denominator), and for a
    few differences of any kind. Otherwise, the tail is a saddlepoint approximation, whose relative error is below 1%
    for p-values down to 1e-60 (the tests compare it with exact results). If all differences are −1, 0 or 1, this is
    McNemar's test.

    Args:
        differences: The `changes`, one per question.
    """
    moved = np.asarray(differences, np.float64)
    moved = moved[moved != 0]
    if len(moved) == 0:
        return 1.0
    sizes, flips = np.unique(np.abs(moved), return_counts=True)
    observed = abs(math.fsum(moved))
    if observed <= _ROUNDING:
        return 1.0
    if math.prod((flips + 1).tolist()) <= _EXACT_SUMS:
        return _enumerate_flips(sizes, flips, observed - _ROUNDING)
    # Sort the groups of equal absolute differences so that the one with the largest sum is last, because the exact
    # distribution needs no additions for the last group.
    order = np.argsort(sizes * flips, kind="stable")
    sizes, flips, unit = sizes[order], flips[order], _lattice_unit(sizes)
    if unit and float(np.cumsum(sizes * flips)[:-1] @ flips[1:]) / unit <= _EXACT_STEPS:
        return _lattice_flips(np.rint(sizes / unit).astype(np.int64), flips, round(observed / unit))
    return _saddlepoint_flips(sizes, flips, observed, unit)


def _enumerate_flips(sizes: Floats, flips: NDArray[np.int64], observed: float) -> float:
    sums, chances = np.zeros(1), np.ones(1)
    for size, count in zip(sizes, flips.tolist(), strict=True):
        sums = np.add.outer(sums, size * (2 * np.arange(count + 1) - count)).ravel()
        chances = np.multiply.outer(chances, probabilities(count, 0.5)).ravel()
    return float(min(1.0, chances[np.abs(sums) >= observed].sum()))


def _lattice_unit(sizes: Floats) -> float:
    """Return the greatest common divisor of all absolute differences, or 0 if one of them is not a simple fraction."""
    fractions = [Fraction(size).limit_denominator(_DENOMINATOR) for size in sizes.tolist()]
    if any(abs(fraction - size) > _ROUNDING for fraction, size in zip(fractions, sizes.tolist(), strict=True)):
        return 0.0
    denominator = math.lcm(*(fraction.denominator for fraction in fractions))
    return math.gcd(*(int(fraction * denominator) for fraction in fractions)) / denominator


def _lattice_flips(sizes: NDArray[np.int64], flips: NDArray[np.int64], observed: int) -> float:
    """Return the exact p-value for integer differences, from the distribution of the sum of the positive differences.

    Only positive numbers are added, so small p-values have the same relative precision as large ones.
    """
    chances = np.ones(1)
    for size, count in zip(sizes[:-1].tolist(), flips[:-1].tolist(), strict=True):
        further = np.zeros(len(chances) + size * count)
        for heads, chance in enumerate(probabilities(count, 0.5).tolist()):
            further[size * heads : size * heads + len(chances)] += chance * chances
        chances = further
    size, count = int(sizes[-1]), int(flips[-1])
    # The signed sum is twice the sum of the positive differences minus the sum of all absolute differences.
    needed = (len(chances) - 1 + size * count + observed + 1) // 2 - size * np.arange(count + 1)
    tails = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
    return float(min(1.0, 2 * (probabilities(count, 0.5) @ tails[np.clip(needed, 0, len(chances))])))


def _saddlepoint_flips(sizes: Floats, flips: NDArray[np.int64], observed: float, unit: float) -> float:
    """Return the p-value from the tail approximation by Lugannani and Rice (1980).

    Args:
        sizes: The distinct sizes of the differences.
        flips: The number of differences of each size.
        observed: The absolute value of the sum.
        unit: A common divisor of all sizes, for the continuity correction by Daniels (1987), or 0 if there is none.
    """
    total = float(sizes @ flips)
    if observed >= total - _ROUNDING:  # all differences have the same sign
        return math.ldexp(2.0, -int(flips.sum()))
    tail = observed - unit  # continuity correction; adjacent sums are two units apart

    def excess(tilt: float) -> float:
        return float((sizes * np.tanh(tilt * sizes)) @ flips) - tail

    low, high = 0.0, 1 / float(sizes.max())
    while excess(high) < 0:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    tilt = (low + high) / 2
    tilted = tilt * sizes
    log_cosh = float((tilted + np.log1p(np.exp(-2 * tilted)) - math.log(2)) @ flips)
    deviate = math.sqrt(max(0.0, 2 * (tilt * tail - log_cosh)))
    if deviate < _CENTRAL:  # the correction vanishes in the centre, because the distribution is symmetric
        return min(1.0, math.erfc(deviate / math.sqrt(2)))
    scale = math.sqrt(float((sizes / np.cosh(np.minimum(tilted, 350.0))) ** 2 @ flips))
    span = tilt if unit == 0 else math.sinh(unit * tilt) / unit
    ratio = math.sqrt(math.pi / 2) * float(scipy.special.erfcx(deviate / math.sqrt(2)))
    ratio += 1 / (span * scale) - 1 / deviate
    return min(1.0, 2 * ratio * math.exp(-(deviate**2) / 2) / math.sqrt(2 * math.pi))


def paired_difference(
    differences: ArrayLike, level: float = LEVEL, weights: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> Interval:
    """Return the mean change in paired scores with its confidence interval.

    The mean is the rate of gains minus the rate of losses. Its interval is combined from their intervals and from the
    correlation between gains and losses (MOVER), so it has a width even if no score changed.

    Args:
        differences: The `changes`, one per question, between −1 and 1.
        level: Confidence level.
        weights: Weight of each question; equal by default.
        clusters: The event of each question, numbered from 0; by default, each question is an event of its own.

    Raises:
        ValueError: There are no differences.
    """
    return _GainsAndLosses(*_cluster(differences, weights, clusters)).difference(level)


def correlate(first: Floats, second: Floats) -> float:
    """Return the correlation of two sums, given the residuals of their clusters.

    Without variation, it is unknown: 0 is returned if one sum varies, and 1 if neither does, which makes the interval
    of their mean as wide as that of one of them.
    """
    spread = math.sqrt(float((first @ first) * (second @ second)))
    return float(first @ second) / spread if spread else float(not (first.any() or second.any()))


def decline_test(differences: ArrayLike, min_drop: float) -> float:
    """Return the p-value of the minimum-effect test, whose null hypothesis is that the drop does not exceed `min_drop`.

    It is the smallest p for which the interval with the level 1 − p lies below −min_drop, so p < 0.05 if and only if
    the 95% interval does.
    """
    parts = _GainsAndLosses(*_cluster(differences, None, None))
    if parts.difference(1 - _LARGEST_P).high >= -min_drop:
        return 1.0
    low, high = math.log(_SMALLEST_P), math.log(_LARGEST_P)
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if parts.difference(1 - math.exp(middle)).high < -min_drop else (middle, high)
    return math.exp(high)


class _GainsAndLosses(NamedTuple):
    """The sums of the positive and of the negative changes in each cluster, and its number of questions."""

    gains: Floats
    losses: Floats
    sizes: Floats

    def difference(self, level: float) -> Interval:
        """Return the mean change with its interval."""
        sizes = self.sizes.tolist()
        up, down = (clustered_wilson(part.tolist(), sizes, level, is_graded=True) for part in self[:2])
        residuals = self.gains - up.value * self.sizes, self.losses - down.value * self.sizes
        correlation = correlate(*residuals) if up.value and down.value else 0.0
        _, low, high = combine_rates([up, down], [1.0, -1.0], correlation)
        value = (math.fsum(self.gains) - math.fsum(self.losses)) / math.fsum(sizes)
        return Interval(value, max(-1.0, low), min(1.0, high))


def _cluster(differences: ArrayLike, weights: ArrayLike | None, clusters: ArrayLike | None) -> list[Floats]:
    moved = np.asarray(differences, np.float64)
    if len(moved) == 0:
        raise ValueError("the difference cannot be computed, because the two sides have no questions in common")
    times = np.ones(len(moved)) if weights is None else np.asarray(weights, np.float64)
    times = times / times.mean()
    groups = np.arange(len(moved)) if clusters is None else np.unique(clusters, return_inverse=True)[1].reshape(-1)
    parts = (times * np.maximum(moved, 0), times * np.maximum(-moved, 0), times)
    return [np.bincount(groups, weights=part).astype(np.float64) for part in parts]


def cochran_q(scores: ArrayLike) -> float:
    """Return the p-value from Cochran's Q test of the null hypothesis that all conditions are equally hard.

    For scores between 0 and 1, e.g. means over several questions about one event, the variance of the totals under
    within-row permutations generalises the variance for verdicts. With two conditions, the test is the sign-flip
    test, which for verdicts is the exact McNemar test.

    Args:
        scores: One row per question or event, one column per condition, from 0 to 1.
    """
    table = np.asarray(scores, np.float64)
    conditions = table.shape[1]
    if conditions == 2:
        return sign_flips(changes(table[:, 1], table[:, 0]))
    columns = table.sum(axis=0)
    varied = float((conditions * np.square(table).sum(axis=1) - np.square(table.sum(axis=1))).sum())
    if varied <= 1e-12:
        return 1.0
    q = (conditions - 1) * conditions * float(((columns - columns.mean()) ** 2).sum()) / varied
    return float(scipy.special.chdtrc(conditions - 1, q))

"""Paired comparisons on the same questions: differences, tests, and bounds that need only the totals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats, clopper_pearson, probabilities, sign_test
from ragbed.analysis.statistics.rates import LEVEL, Interval, two_sided

_EXACT_SUMS = 1_000_000  # maximum number of distinct sums to enumerate
_EXACT_STEPS = 20_000_000  # maximum number of additions for the exact distribution on a lattice, about 20 ms
_DENOMINATOR = 10_000  # maximum common denominator of the differences, e.g. 60 for means of 2 to 6 verdicts
# `_moments` adds two pseudo-observations. The squared change of each is the mean squared change, computed over the
# observed non-zero changes and this many additional changes of ±1. The number was chosen by simulation: with a value of
# 1, coverage drops to 83% if scores change for only a few events with ten questions each.
_FULL_CHANGES = 16
_BISECTIONS = 80  # number of bisection steps, enough to compute the saddlepoint to the last digit
_CENTRAL = 0.01  # standard normal deviate below which the normal approximation is used
_ROUNDING = 1e-9  # maximum rounding difference between sums that are mathematically equal


class McNemarBounds(NamedTuple):
    """The smallest and largest p-values that are possible given two totals."""

    least: float
    most: float


def flip_odds(won: int, lost: int, level: float = LEVEL) -> Interval:
    """Return the odds ratio for matched pairs (questions won per question lost) with its exact confidence interval.

    The ratio is infinite if no question is lost.

    Raises:
        ValueError: No question was won or lost.
    """
    shares = clopper_pearson(won, won + lost, level)
    return Interval(*(math.inf if share == 1 else share / (1 - share) for share in shares))


def mcnemar_bounds(first: int, second: int, n: int) -> McNemarBounds:
    """Return the range of possible McNemar p-values, given two counts of correct answers to the same n questions.

    The totals do not show how many verdicts changed, so all possible numbers are tried.
    """
    lost = np.arange(max(0, second - first), min(second, n - first) + 1)
    values = sign_test(lost + first - second, lost)
    return McNemarBounds(float(values.min()), float(values.max()))


def sign_flips(differences: ArrayLike, counts: ArrayLike | None = None) -> float:
    """Return the two-sided p-value from the paired permutation test for graded scores.

    The test is exact for up to about a thousand differences of means (fractions with a common denominator), and for a
    few differences of any kind. Otherwise, the tail is a saddlepoint approximation, whose relative error is below 1%
    for p-values down to 1e-60 (the tests compare it with exact results). If all differences are −1, 0 or 1, this is
    McNemar's test.

    Args:
        differences: One per question.
        counts: How many questions each difference represents; 1 by default.
    """
    moved = np.asarray(differences, np.float64)
    times = _times(moved, counts)[moved != 0]
    moved = moved[moved != 0]
    if len(moved) == 0:
        return 1.0
    sizes, which = np.unique(np.round(np.abs(moved), 12), return_inverse=True)
    flips = np.bincount(which.reshape(-1), weights=times, minlength=len(sizes)).astype(np.int64)
    observed = abs(float((moved * times).sum()))
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


def paired_difference(differences: ArrayLike, level: float = LEVEL, counts: ArrayLike | None = None) -> Interval:
    """Return the mean difference between paired scores with its confidence interval.

    Two changed questions are added, one in each direction (Bonett and Price, 2012), so that the interval has a width
    even if hardly any score changed. The square of their change is the mean square of the observed changes and 16
    changes of size 1: graded scores change less than verdicts, but if only a few events change completely, a sample may
    contain none of them.

    Args:
        differences: One per question (or event), second minus first, between −1 and 1.
        level: Confidence level.
        counts: How many questions each difference represents; 1 by default.

    Raises:
        ValueError: There are no differences.
    """
    mean, middle, error, _ = _moments(differences, counts)
    reach = two_sided(level) * error
    return Interval(mean, max(-1.0, middle - reach), min(1.0, middle + reach))


def decline_test(differences: ArrayLike, min_drop: float, counts: ArrayLike | None = None) -> float:
    """Return the p-value of the minimum-effect test, whose null hypothesis is that the drop does not exceed `min_drop`.

    The p-value is doubled, so that p < 0.05 implies that the 95% interval lies below −min_drop. The quantile is
    Student's t with one degree of freedom per question, because gates must not err more often than stated in any
    design.
    """
    _, middle, error, n = _moments(differences, counts)
    return min(1.0, 2 * float(scipy.special.stdtr(n, (middle + min_drop) / error)))


def equivalence_test(differences: ArrayLike, margin: float, counts: ArrayLike | None = None) -> float:
    """Return the p-value from two one-sided tests (TOST), whose null hypothesis is a change of at least `margin`."""
    _, middle, error, n = _moments(differences, counts)
    return float(scipy.special.stdtr(n, (abs(middle) - margin) / error))


def cochran_q(scores: ArrayLike, counts: ArrayLike | None = None) -> float:
    """Return the p-value from Cochran's Q test of the null hypothesis that all conditions are equally hard.

    For scores between 0 and 1, e.g. means over several questions about one event, the variance of the totals under
    within-row permutations generalises the variance for verdicts. With two conditions, the test is the sign-flip
    test, which for verdicts is the exact McNemar test.

    Args:
        scores: One row per question or event, one column per condition, from 0 to 1.
        counts: How many questions each row represents; 1 by default.
    """
    table = np.asarray(scores, np.float64)
    conditions, times = table.shape[1], _times(table, counts)
    if conditions == 2:
        return sign_flips(table[:, 0] - table[:, 1], counts=times)
    columns = times @ table
    varied = float(times @ (conditions * np.square(table).sum(axis=1) - np.square(table.sum(axis=1))))
    if varied <= 1e-12:
        return 1.0
    q = (conditions - 1) * conditions * float(((columns - columns.mean()) ** 2).sum()) / varied
    return float(scipy.special.chdtrc(conditions - 1, q))


def _moments(differences: ArrayLike, counts: ArrayLike | None) -> tuple[float, float, float, int]:
    """Return the raw mean, the mean and standard error with two pseudo-observations added, and the question count."""
    moved = np.asarray(differences, np.float64)
    times = _times(moved, counts)
    n, total, squares = int(times.sum()), float((moved * times).sum()), float((np.square(moved) * times).sum())
    if n == 0:
        raise ValueError("the difference cannot be computed, because the two sides have no questions in common")
    # The squared change of each pseudo-observation.
    added = (squares + _FULL_CHANGES) / (int(times[moved != 0].sum()) + _FULL_CHANGES)
    middle = total / (n + 2)
    return total / n, middle, math.sqrt(((squares + 2 * added) / (n + 2) - middle**2) / (n + 2)), n


def _times(values: NDArray[Any], counts: ArrayLike | None) -> NDArray[np.int64]:
    return np.ones(len(values), np.int64) if counts is None else np.asarray(counts, np.int64)

"""Paired comparisons: differences on the same questions, tests of them, and bounds that need only the totals."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads scipy.special, which takes 0.2 s, on first use
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats, clopper_pearson, probabilities, sign_test
from ragbed.analysis.statistics.rates import LEVEL, Interval, student

_EXACT_SUMS = 1_000_000  # maximum number of distinct sums for an exact permutation test; larger tests are sampled
_DRAWS = 20_000  # gives a standard error of 0.0015 at p = 0.05
_CHUNK_CELLS = 1_000_000  # limits a matrix of draws to about 8 MB


class McNemarBounds(NamedTuple):
    """The smallest and largest p values that are possible given two totals."""

    least: float
    most: float


def mcnemar(won: int, lost: int) -> float:
    """Return the two-sided p value from the exact McNemar test.

    Args:
        won: Questions that only the first side answered correctly.
        lost: Questions that only the second side answered correctly.
    """
    return float(sign_test(won, lost))


def flip_odds(won: int, lost: int, level: float = LEVEL) -> Interval:
    """Return the odds ratio for matched pairs (questions won per question lost) with its exact interval.

    The ratio is infinite if no question is lost.

    Raises:
        ValueError: No question was won or lost.
    """
    shares = clopper_pearson(won, won + lost, level)
    return Interval(*(math.inf if share == 1 else share / (1 - share) for share in shares))


def mcnemar_bounds(first: int, second: int, n: int) -> McNemarBounds:
    """Return the range of McNemar p values that is possible for two counts of correct answers to the same n questions.

    The totals do not show how many verdicts changed, so every possible number is tried.
    """
    lost = np.arange(max(0, second - first), min(second, n - first) + 1)
    values = sign_test(lost + first - second, lost)
    return McNemarBounds(float(values.min()), float(values.max()))


def sign_flips(differences: ArrayLike, seed: int = 0, counts: ArrayLike | None = None) -> float:
    """Return the two-sided p value from the paired permutation test for graded scores.

    Differences of equal size are flipped together, so most tests can be enumerated; the others are sampled. If all
    differences are −1, 0 or 1, this is McNemar's test.

    Args:
        differences: One per question.
        seed: Seed for the random number generator.
        counts: How many questions each difference represents; 1 by default.
    """
    moved = np.asarray(differences, np.float64)
    times = _times(moved, counts)[moved != 0]
    moved = moved[moved != 0]
    if len(moved) == 0:
        return 1.0
    sizes, which = np.unique(np.round(np.abs(moved), 12), return_inverse=True)
    flips = np.bincount(which.reshape(-1), weights=times, minlength=len(sizes)).astype(np.int64)
    # Mathematically equal sums of fractions may differ because of rounding.
    observed = abs((moved * times).sum()) - 1e-9
    if math.prod((flips + 1).tolist()) <= _EXACT_SUMS:
        return _enumerate_flips(sizes, flips, observed)
    rng, extreme, chunk = np.random.default_rng(seed), 0, max(1, _CHUNK_CELLS // len(sizes))
    for start in range(0, _DRAWS, chunk):
        heads = rng.binomial(flips, 0.5, size=(min(chunk, _DRAWS - start), len(flips)))
        extreme += int(np.count_nonzero(np.abs((2 * heads - flips) @ sizes) >= observed))
    return (1 + extreme) / (1 + _DRAWS)


def _enumerate_flips(sizes: Floats, flips: NDArray[np.int64], observed: float) -> float:
    sums, chances = np.zeros(1), np.ones(1)
    for size, count in zip(sizes, flips.tolist(), strict=True):
        sums = np.add.outer(sums, size * (2 * np.arange(count + 1) - count)).ravel()
        chances = np.multiply.outer(chances, probabilities(count, 0.5)).ravel()
    return float(min(1.0, chances[np.abs(sums) >= observed].sum()))


def paired_difference(differences: ArrayLike, level: float = LEVEL, counts: ArrayLike | None = None) -> Interval:
    """Return the mean difference between paired scores with its interval.

    Two changed questions are added, one in each direction (Bonett and Price, 2012), so that the interval has a width
    even if hardly any score changed. Their change is as large as the observed ones (1 if there are none), because
    graded scores change less than verdicts. The quantile is Student's t with one degree of freedom per question.

    Args:
        differences: One per question (or event), second minus first, between −1 and 1.
        level: Confidence level.
        counts: How many questions each difference represents; 1 by default.

    Raises:
        ValueError: There are no differences.
    """
    mean, middle, error, n = _moments(differences, counts)
    reach = student(level, n) * error
    return Interval(mean, max(-1.0, middle - reach), min(1.0, middle + reach))


def decline_test(differences: ArrayLike, least: float, counts: ArrayLike | None = None) -> float:
    """Return the p value from the minimum-effect test, whose null hypothesis is a decline of at most `least`.

    The p value is doubled, so that p < 0.05 means that the 95 % interval lies below −least.
    """
    _, middle, error, n = _moments(differences, counts)
    return min(1.0, 2 * float(scipy.special.stdtr(n, (middle + least) / error)))


def equivalence_test(differences: ArrayLike, margin: float, counts: ArrayLike | None = None) -> float:
    """Return the p value from two one-sided tests (TOST), whose null hypothesis is a change of at least `margin`."""
    _, middle, error, n = _moments(differences, counts)
    return float(scipy.special.stdtr(n, (abs(middle) - margin) / error))


def cochran_q(scores: ArrayLike, counts: ArrayLike | None = None) -> float:
    """Return the p value from Cochran's Q test of the null hypothesis that all conditions are equally hard.

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
    """Return the mean, the mean and standard error after adding two questions, and the number of questions."""
    moved = np.asarray(differences, np.float64)
    times = _times(moved, counts)
    n, total, squares = int(times.sum()), float((moved * times).sum()), float((np.square(moved) * times).sum())
    if n == 0:
        raise ValueError("a difference needs at least one question that both sides have")
    added = (squares + 1) / (int(times[moved != 0].sum()) + 1)  # the squared change of an added question
    middle = total / (n + 2)
    return total / n, middle, math.sqrt(((squares + 2 * added) / (n + 2) - middle**2) / (n + 2)), n


def _times(values: NDArray[Any], counts: ArrayLike | None) -> NDArray[np.int64]:
    return np.ones(len(values), np.int64) if counts is None else np.asarray(counts, np.int64)

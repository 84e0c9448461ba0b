"""The same questions asked twice: differences, their tests, and what margins alone can say of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads scipy.special, which takes 0.2 s, on first use
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import clopper_pearson, probabilities, sign_test
from ragbed.analysis.statistics.rates import LEVEL, Interval, two_sided

_EXACT_SUMS = 1_000_000
"""Up to so many different sums a permutation test is enumerated, which takes a moment; past it, drawn."""
_DRAWS = 20_000
"""Resolves p = 0.05 to 0.0015."""
_CHUNK_CELLS = 1_000_000
"""Of a matrix of draws, about 8 MB."""


class McNemarBounds(NamedTuple):
    """The smallest and largest p that margins allow."""

    least: float
    most: float


def mcnemar(won: int, lost: int) -> float:
    """Exact McNemar test, two-sided.

    Args:
        won: Questions that only the first got right.
        lost: Questions that only the second got right.
    """
    return float(sign_test(won, lost))


def flip_odds(won: int, lost: int, level: float = LEVEL) -> Interval:
    """How many questions are won for each one lost: the odds ratio of matched pairs, with its exact interval.

    Where none is lost it is infinite.

    Raises:
        ValueError: None is won or lost.
    """
    share = clopper_pearson(won, won + lost, level)
    return Interval(*(math.inf if one == 1 else one / (1 - one) for one in share))


def mcnemar_bounds(first: int, second: int, n: int) -> McNemarBounds:
    """All that McNemar's test could say of two numbers of right answers among the same n questions.

    How many questions changed is not in the margins; every number that they allow is tried.
    """
    lost = np.arange(max(0, second - first), min(second, n - first) + 1)
    values = sign_test(lost + first - second, lost)
    return McNemarBounds(float(values.min()), float(values.max()))


def sign_flips(differences: ArrayLike, seed: int = 0, counts: ArrayLike | None = None) -> float:
    """Paired permutation test for graded scores, two-sided: p of the mean if every sign were a coin's.

    Differences of one size are flipped together, so that most scores can be enumerated; the rest are drawn. Where all
    differences are −1, 0 or 1 it is McNemar's test.

    Args:
        differences: One a question.
        seed: Of the draws.
        counts: How many questions each difference stands for, where equal ones are told once.
    """
    moved = np.asarray(differences, np.float64)
    times = _times(moved, counts)[moved != 0]
    moved = moved[moved != 0]
    sizes, which = np.unique(np.round(np.abs(moved), 12), return_inverse=True)
    flips = np.bincount(which.reshape(-1), weights=times, minlength=len(sizes)).astype(np.int64)
    seen = abs((moved * times).sum()) - 1e-9  # sums of fractions are equal only nearly
    if len(sizes) == 0:
        return 1.0
    if math.prod((flips + 1).tolist()) <= _EXACT_SUMS:
        sums, chances = np.zeros(1), np.ones(1)
        for size, count in zip(sizes, flips.tolist(), strict=True):
            flipped = size * (2 * np.arange(count + 1) - count)
            sums = np.add.outer(sums, flipped).ravel()
            chances = np.multiply.outer(chances, probabilities(count, 0.5)).ravel()
        return float(min(1.0, chances[np.abs(sums) >= seen].sum()))
    rng, extreme, chunk = np.random.default_rng(seed), 0, max(1, _CHUNK_CELLS // len(sizes))
    for start in range(0, _DRAWS, chunk):
        heads = rng.binomial(flips, 0.5, size=(min(chunk, _DRAWS - start), len(flips)))
        extreme += int(np.count_nonzero(np.abs((2 * heads - flips) @ sizes) >= seen))
    return (1 + extreme) / (1 + _DRAWS)


def paired_difference(differences: ArrayLike, level: float = LEVEL, counts: ArrayLike | None = None) -> Interval:
    """The mean difference of paired scores with its interval.

    Two questions are added that moved fully, one each way (Bonett and Price, 2012), which gives an interval its
    width where hardly anything moved, and good coverage from 20 questions on.

    Args:
        differences: One a question, between −1 and 1: second minus first.
        level: Of confidence.
        counts: How many questions each difference stands for, where equal ones are told once.
    """
    mean, middle, error = _moments(differences, counts)
    reach = two_sided(level) * error
    return Interval(mean, max(-1.0, middle - reach), min(1.0, middle + reach))


def decline_test(differences: ArrayLike, least: float, counts: ArrayLike | None = None) -> float:
    """Minimum-effect test: p of the differences if scores had fallen by no more than `least`.

    It is doubled, so that p < 0.05 says the same as: the 95 % interval lies beyond −least.
    """
    _, middle, error = _moments(differences, counts)
    return min(1.0, 2 * float(scipy.special.ndtr((middle + least) / error)))


def equivalence_test(differences: ArrayLike, margin: float, counts: ArrayLike | None = None) -> float:
    """Two one-sided tests (TOST): p of the differences if scores had moved by `margin` or more, either way."""
    _, middle, error = _moments(differences, counts)
    return float(scipy.special.ndtr((abs(middle) - margin) / error))


def cochran_q(scores: ArrayLike, counts: ArrayLike | None = None) -> float:
    """Cochran's Q: p of the table if all conditions were equally hard; exact McNemar where there are two.

    Args:
        scores: One row a question, one column a condition, 0 or 1.
        counts: How many questions each row stands for, where equal ones are told once.

    Raises:
        ValueError: A score is neither.
    """
    verdicts = np.asarray(scores)
    if not np.isin(verdicts, (0, 1)).all():
        raise ValueError("Cochran's Q is of scores 0 and 1")
    table = verdicts.astype(np.int64)
    conditions, times = table.shape[1], _times(table, counts)
    if conditions == 2:
        moved = table[:, 0] - table[:, 1]
        return mcnemar(int(times[moved > 0].sum()), int(times[moved < 0].sum()))
    columns, rows = times @ table, table.sum(axis=1)
    varied = float((times * rows * (conditions - rows)).sum())
    if varied == 0:
        return 1.0
    q = (conditions - 1) * conditions * float(((columns - columns.mean()) ** 2).sum()) / varied
    return float(scipy.special.chdtrc(conditions - 1, q))


def _moments(differences: ArrayLike, counts: ArrayLike | None) -> tuple[float, float, float]:
    """The mean; and mean and standard error with the two questions added."""
    moved = np.asarray(differences, np.float64)
    times = _times(moved, counts)
    n, total = int(times.sum()), float((moved * times).sum())
    middle = total / (n + 2)
    squares = (float((np.square(moved) * times).sum()) + 2) / (n + 2)
    return total / n, middle, math.sqrt(max(squares - middle**2, 0.0) / (n + 2))


def _times(values: NDArray[Any], counts: ArrayLike | None) -> NDArray[np.int64]:
    return np.ones(len(values), np.int64) if counts is None else np.asarray(counts, np.int64)

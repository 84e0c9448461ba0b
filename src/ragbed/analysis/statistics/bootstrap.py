"""Intervals of any statistic by resampling questions (BCa), fast enough for a board of a million trials.

A statistic is a function of totals (hits, trials, … added over all questions), so a resample only has to add rows.
Rows that are equal, and with right-or-wrong scores most are, are drawn together: a resample of so many thousand
questions is one multinomial draw over the few patterns that occur. That is the same distribution, not an approximation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy  # loads scipy.special, which takes 0.2 s, on first use
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import LEVEL, Interval, two_sided

Statistic = Callable[[Floats], Floats]
"""From totals (…, columns) to values (…, statistics); where a value is undefined it is NaN."""

REPLICATES = 10_000
_CHUNK_CELLS = 4_000_000
"""Of a matrix of weights, about 32 MB."""


class Patterns:
    """The rows of all clusters, equal ones together."""

    def __init__(self, rows: ArrayLike, counts: ArrayLike | None = None) -> None:
        table = np.asarray(rows, np.float64)
        times = np.ones(len(table), np.int64) if counts is None else np.asarray(counts, np.int64)
        patterns, which = np.unique(table, axis=0, return_inverse=True)
        self.rows: Floats = patterns
        self.counts: NDArray[np.int64] = np.bincount(which.reshape(-1), weights=times).astype(np.int64)
        self.totals: Floats = (table * times[:, None]).sum(axis=0)

    def resampled(self, replicates: int, seed: int) -> Iterator[Floats]:
        """Totals of resamples, some at a time."""
        rng, clusters = np.random.default_rng(seed), self.counts.sum()
        chunk = max(1, _CHUNK_CELLS // len(self.counts))
        for start in range(0, replicates, chunk):
            size = min(chunk, replicates - start)
            yield rng.multinomial(clusters, self.counts / clusters, size=size) @ self.rows

    def without_one(self) -> Floats:
        """Totals with one cluster left out, for every pattern."""
        return self.totals - self.rows


def bootstrap(
    rows: ArrayLike,
    statistic: Statistic,
    *,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = 0,
    counts: ArrayLike | None = None,
) -> list[Interval]:
    """Bias-corrected and accelerated intervals, one a statistic.

    A statistic that no resample moves, as of a model that is always right, gets no bounds (NaN): data that do not
    vary cannot tell how far the truth may be.

    Args:
        rows: One a question (or whatever is independent), of what adds up.
        statistic: What is computed of the totals, several values at once.
        level: Of confidence.
        replicates: How many resamples.
        seed: Of the draws.
        counts: How many questions each row stands for, where equal ones are told once.
    """
    patterns = Patterns(rows, counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = statistic(patterns.totals)
        drawn = np.concatenate([statistic(totals) for totals in patterns.resampled(replicates, seed)])
        jackknife = statistic(patterns.without_one())
    return [
        _bca(float(value), drawn[:, column], jackknife[:, column], patterns.counts, level)
        for column, value in enumerate(seen)
    ]


def _bca(value: float, drawn: Floats, jackknife: Floats, counts: NDArray[np.int64], level: float) -> Interval:
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or len(drawn) == 0 or drawn.min() == drawn.max():
        return Interval(value, np.nan, np.nan)
    near = 1e-12 * max(1.0, abs(value))  # the same sum in another order
    below = (np.count_nonzero(drawn < value - near) + np.count_nonzero(drawn <= value + near)) / (2 * len(drawn))
    bias = scipy.special.ndtri(np.clip(below, 1 / len(drawn), 1 - 1 / len(drawn)))
    ends = bias + two_sided(level) * np.array([-1.0, 1.0])
    shares = scipy.special.ndtr(bias + ends / (1 - _acceleration(jackknife, counts) * ends))
    low, high = np.quantile(drawn, np.clip(shares, 0, 1))
    return Interval(value, float(low), float(high))


def _acceleration(jackknife: Floats, counts: NDArray[np.int64]) -> float:
    known = np.isfinite(jackknife)
    values, weights = jackknife[known], counts[known]
    if len(values) == 0:
        return 0.0
    moved = np.average(values, weights=weights) - values
    spread = float(weights @ moved**2)
    return float(weights @ moved**3) / (6 * spread**1.5) if spread > 0 else 0.0

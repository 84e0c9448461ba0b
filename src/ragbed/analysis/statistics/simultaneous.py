"""Simultaneous intervals: bands that contain all points of a curve at the given confidence level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson

_DRAWS = 20_000  # number of random draws, enough for the quantile to have a standard error of about 0.01
_ROUNDING = 1e-12  # eigenvalues up to this size are rounding errors


def clustered_bands(rows: ArrayLike, counts: Sequence[int], level: float = LEVEL) -> list[Interval]:
    """Return simultaneous intervals, at the given confidence level, for several rates over the same clusters.

    Each is a `clustered_wilson` interval at a higher level, which is computed from the maximum of correlated normal
    deviates (max-t). The more strongly the rates are correlated, the less the level is raised.

    Args:
        rows: One row per cluster: its hits at every point, then its trials at every point.
        counts: Number of clusters that each row represents.
        level: Confidence level of all intervals together.
    """
    hits, trials = np.split(np.asarray(rows, np.float64), 2, axis=1)
    times = np.asarray(counts, np.float64)
    each = 2 * float(scipy.special.ndtr(_largest_deviate(hits, trials, times, level))) - 1
    return [
        clustered_wilson(
            hits[used, point].tolist(), trials[used, point].tolist(), each, times[used].astype(int).tolist()
        )
        for point in range(hits.shape[1])
        for used in [trials[:, point] > 0]
    ]


def _largest_deviate(hits: Floats, trials: Floats, times: Floats, level: float) -> float:
    """Return the quantile of the maximum absolute value of normal deviates with the same correlations as the rates."""
    shares = (times @ hits) / (times @ trials)
    moved = hits - shares * trials
    covariance = (moved * times[:, None]).T @ moved
    scale = np.sqrt(np.diag(covariance))
    scale[scale <= 1e-9] = np.inf  # a rate without variation is treated as independent of the other rates
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric square root does not depend on the choice of eigenvectors, which changes with rounding errors.
    root = (vectors * np.sqrt(np.where(values > _ROUNDING, values, 0.0))) @ vectors.T
    drawn = _normal(len(shares)) @ root
    return float(np.quantile(np.abs(drawn).max(axis=1), level))


@cache
def _normal(points: int) -> Floats:
    return np.random.default_rng(0).standard_normal((_DRAWS, points))

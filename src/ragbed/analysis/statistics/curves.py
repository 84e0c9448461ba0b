"""Confidence intervals that hold simultaneously for all points of a curve."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson
from ragbed.analysis.statistics.testing import Floats

_DRAWS = 20_000  # number of random draws, enough for the quantile to have a standard error of about 0.01
_ROUNDING = 1e-12  # eigenvalues up to this size are rounding errors


def clustered_bands(rows: ArrayLike, level: float = LEVEL) -> list[Interval]:
    """Return simultaneous intervals, at the given confidence level, for several rates over the same clusters.

    Each is a `clustered_wilson` interval at a higher level, which is computed from the maximum of correlated normal
    deviates (max-t). The more strongly the rates are correlated, the less the level is raised.

    Args:
        rows: One row per cluster: its hits at every point, then its trials at every point.
        level: Confidence level of all intervals together.
    """
    hits, trials = np.split(np.asarray(rows, np.float64), 2, axis=1)
    each = 2 * float(scipy.special.ndtr(_largest_deviate(hits, trials, level))) - 1
    return [clustered_wilson(*part, each) for part in zip(hits.T.tolist(), trials.T.tolist(), strict=True)]


def _largest_deviate(hits: Floats, trials: Floats, level: float) -> float:
    """Return the quantile of the maximum absolute value of normal deviates with the same correlations as the rates."""
    shares = hits.sum(axis=0) / trials.sum(axis=0)
    moved = hits - shares * trials
    covariance = moved.T @ moved
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

"""Adjust p-values for multiple testing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats


def holm(values: ArrayLike) -> Floats:
    """Return Holm-adjusted p-values, which control the probability of any false positive."""
    given = np.asarray(values, np.float64)
    order = np.argsort(given, kind="stable")
    return _restore(np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)), order)


def benjamini_hochberg(values: ArrayLike) -> Floats:
    """Return Benjamini-Hochberg-adjusted p-values, which control the false discovery rate."""
    given = np.asarray(values, np.float64)
    order = np.argsort(given, kind="stable")[::-1]
    return _restore(np.minimum.accumulate(given[order] * len(given) / np.arange(len(given), 0, -1)), order)


def _restore(adjusted: Floats, order: NDArray[np.intp]) -> Floats:
    """Cap p-values at 1 and return them in the original order."""
    out = np.empty_like(adjusted)
    out[order] = np.minimum(adjusted, 1.0)
    return out

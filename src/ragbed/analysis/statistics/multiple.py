"""Adjust p-values for multiple testing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.binomial import Floats


def holm(values: ArrayLike) -> Floats:
    """Return Holm-adjusted p-values, which control the probability of any false positive."""
    given = np.asarray(values, np.float64)
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)), 1.0)
    return adjusted

"""Many tests at once: p values adjusted, so that they compare with the level as one would."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.binomial import Floats


def holm(values: ArrayLike) -> Floats:
    """Holm's adjustment: the chance of any false finding among these tests stays under the level."""
    given = np.asarray(values, np.float64)
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    return _restore(np.minimum(stepped, 1.0), order)


def benjamini_hochberg(values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjustment: the expected share of false findings stays under the level."""
    given = np.asarray(values, np.float64)
    order = np.argsort(given, kind="stable")[::-1]
    stepped = np.minimum.accumulate(given[order] * len(given) / np.arange(len(given), 0, -1))
    return _restore(np.minimum(stepped, 1.0), order)


def _restore(adjusted: Floats, order: np.typing.NDArray[np.intp]) -> Floats:
    out = np.empty_like(adjusted)
    out[order] = adjusted
    return out

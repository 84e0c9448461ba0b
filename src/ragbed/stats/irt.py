"""How hard items are and how sharply they part models: the two-parameter logistic model (Birnbaum, 1968)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS, _RATE = 2_000, 0.02
"""Of the ascent; twice as many change no parameter of 500 items by more than 0.01."""
_SPREAD = 0.5
"""Of the logarithm of a, around 0: with a handful of models the data alone would send it to infinity."""

Numbers = NDArray[np.float64]


class Items(NamedTuple):
    """What was found of each item, on the scale on which models have mean 0 and spread 1."""

    a: Numbers
    """Discrimination: how sharply it parts weaker from stronger models; about 1 is usual."""
    b: Numbers
    """Difficulty: the ability at which half get it right."""


def fit_2pl(right: Numbers) -> Items:
    """The parameters that are likeliest after the data, with normal priors on abilities, difficulties and log a.

    Args:
        right: Models by items: 1, 0, or nan where a model was not asked.
    """
    asked = ~np.isnan(right)
    told = np.where(asked, right, 0.0)
    ability = _standard(np.nanmean(right, axis=1))
    values = np.concatenate([ability, np.zeros(2 * right.shape[1])])
    first, second = np.zeros_like(values), np.zeros_like(values)
    for step in range(1, _STEPS + 1):  # Adam, which needs no step sizes of its own for the three kinds of parameters
        slope = _slope(values, told, asked)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        values = values + _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    _, a, b = _parts(values, len(right))
    return Items(np.exp(a), b)


def _parts(values: Numbers, models: int) -> tuple[Numbers, Numbers, Numbers]:
    ability, rest = values[:models], values[models:]
    return ability, rest[: len(rest) // 2], rest[len(rest) // 2 :]


def _slope(values: Numbers, told: Numbers, asked: NDArray[np.bool_]) -> Numbers:
    """Of the logarithm of the posterior."""
    ability, log_a, b = _parts(values, len(told))
    a, distance = np.exp(log_a), ability[:, None] - b[None, :]
    missed = np.where(asked, told - 1 / (1 + np.exp(-a * distance)), 0.0)
    by_ability = (missed * a).sum(axis=1) - ability
    by_a = (missed * distance * a).sum(axis=0) - log_a / _SPREAD**2
    by_b = -(missed * a).sum(axis=0) - b / 4  # a spread of 2: an item may be beyond all models
    return np.concatenate([by_ability, by_a, by_b])


def _standard(values: Numbers) -> Numbers:
    spread = float(values.std())
    standard: Numbers = (values - values.mean()) / (spread or 1.0)
    return standard

"""How many questions it takes to see a difference, and what difference so many can show.

Sizes follow the textbook's normal approximation (Connor 1987 for pairs, Fleiss for two groups). The power of a size is
exact for the test that is used: summed over all outcomes, because the approximation promises some points too much.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ragbed.analysis.statistics.binomial import probabilities, sign_test
from ragbed.analysis.statistics.rates import ALPHA, quantile, two_sided

POWER = 0.8
_NEGLIGIBLE = 1e-9
"""Outcomes that are rarer are left out of an exact sum."""
_FINE = 1e-5
"""A drop is told to the thousandth of a point."""
_STEADY = 5
"""Exact power goes up and down by a hair from one size to the next; so many sizes in a row must reach it."""


def paired_size(drop: float, discordance: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """Questions needed to see a drop with McNemar's test, by the normal approximation.

    Args:
        drop: Difference in accuracy.
        discordance: Share of questions whose verdict changes, either way; at least the drop.
        power: Chance to see it.
        alpha: Level of the test, two-sided.
    """
    if not 0 < drop <= discordance <= 1:
        raise ValueError(f"a drop of {drop} needs a discordance from {drop} to 1, not {discordance}")
    reach = two_sided(1 - alpha) * math.sqrt(discordance) + quantile(power) * math.sqrt(discordance - drop**2)
    return math.ceil(reach**2 / drop**2)


def unpaired_size(base: float, drop: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """Questions needed in each of two groups to see a drop with the z test, by the normal approximation."""
    low = base - drop
    if not 0 < drop <= base <= 1:
        raise ValueError(f"a drop of {drop} from {base} leaves no rate between 0 and 1")
    middle = (base + low) / 2
    reach = two_sided(1 - alpha) * math.sqrt(2 * middle * (1 - middle)) + quantile(power) * math.sqrt(
        base * (1 - base) + low * (1 - low)
    )
    return max(1, math.ceil(reach**2 / drop**2))


def paired_power(n: int, drop: float, discordance: float, alpha: float = ALPHA) -> float:
    """Chance that exact McNemar sees a drop, summed over all numbers of changed questions and their directions."""
    won = (discordance + drop) / (2 * discordance)
    chances = probabilities(n, discordance)
    total = 0.0
    for moved in np.flatnonzero(chances > _NEGLIGIBLE).tolist():
        wins = np.arange(moved + 1)
        rejected = sign_test(wins, moved - wins) < alpha
        total += float(chances[moved]) * float(probabilities(moved, won)[rejected].sum())
    return total


def unpaired_power(n: int, base: float, drop: float, alpha: float = ALPHA) -> float:
    """Chance that the two-proportion z test sees a drop between groups of n, summed over all outcomes."""
    first, second = probabilities(n, base), probabilities(n, base - drop)
    x, y = np.flatnonzero(first > _NEGLIGIBLE), np.flatnonzero(second > _NEGLIGIBLE)
    pooled = np.add.outer(x, y) / (2 * n)
    error = np.sqrt(pooled * (1 - pooled) * 2 / n)
    far = np.abs(np.subtract.outer(x, y)) / n >= two_sided(1 - alpha) * error
    return float(first[x] @ (far & (error > 0)) @ second[y])


def exact_size(power_of: Callable[[int], float], start: int, power: float = POWER) -> int:
    """The least size from which on the exact power is reached.

    Args:
        power_of: From a size to its power.
        start: A size near it, as the normal approximation gives.
        power: To be reached.
    """
    size = start
    while size > _STEADY and power_of(size) >= power:
        size -= _STEADY
    reached = 0
    while reached < _STEADY:
        reached = reached + 1 if power_of(size) >= power else 0
        size += 1
    return size - _STEADY


def detectable_drop(is_seen: Callable[[float], bool], most: float) -> float | None:
    """The least drop that is seen, or None where not even the largest is.

    Args:
        is_seen: Whether a drop is seen; if one is, so are larger ones.
        most: The largest drop that can be.
    """
    if not is_seen(most):
        return None
    low, high = 0.0, most
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (low, middle) if is_seen(middle) else (middle, high)
    return high

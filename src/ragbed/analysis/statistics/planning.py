"""Sample-size planning: find the number of questions, the detectable drop or the power of a comparison.

Sizes use the textbook normal approximations (Connor 1987 for pairs, Fleiss for two groups). Power is computed exactly
by summing over all outcomes of the test, because the approximation is several points too optimistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ragbed.analysis.statistics.rates import ALPHA, quantile, two_sided
from ragbed.analysis.statistics.testing import probabilities, sign_test

POWER = 0.8
_NEGLIGIBLE = 1e-9  # probability below which an outcome is omitted from an exact sum
_DROP_PRECISION = 1e-5
_STEADY = 5  # number of consecutive sample sizes that must reach the requested power, because exact power fluctuates


def paired_size(drop: float, discordance: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """Return the number of questions needed to detect a drop with McNemar's test, using the normal approximation.

    Args:
        drop: Difference in accuracy.
        discordance: Share of questions whose verdict changes in either direction; at least the drop.
        power: Probability of detecting the drop.
        alpha: Two-sided level of the test.
    """
    if not 0 < drop <= discordance <= 1:
        raise ValueError(f"a drop of {drop} requires a discordance between {drop} and 1, not {discordance}")
    reach = two_sided(1 - alpha) * math.sqrt(discordance) + quantile(power) * math.sqrt(discordance - drop**2)
    return math.ceil(reach**2 / drop**2)


def unpaired_size(base: float, drop: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """Return the number of questions per group for detecting a drop with the z test, using the normal approximation."""
    low = base - drop
    if not 0 < drop <= base <= 1:
        raise ValueError(f"a drop of {drop} from {base} would give a rate outside the range from 0 to 1")
    middle = (base + low) / 2
    reach = two_sided(1 - alpha) * math.sqrt(2 * middle * (1 - middle)) + quantile(power) * math.sqrt(
        base * (1 - base) + low * (1 - low)
    )
    return max(1, math.ceil(reach**2 / drop**2))


def paired_power(n: int, drop: float, discordance: float, alpha: float = ALPHA) -> float:
    """Return the exact power of McNemar's test, summed over all counts of verdict changes in each direction."""
    won = (discordance + drop) / (2 * discordance)
    chances = probabilities(n, discordance)
    total = 0.0
    for moved in np.flatnonzero(chances > _NEGLIGIBLE).tolist():
        wins = np.arange(moved + 1)
        rejected = sign_test(wins, moved - wins) < alpha
        total += float(chances[moved]) * float(probabilities(moved, won)[rejected].sum())
    return total


def unpaired_power(n: int, base: float, drop: float, alpha: float = ALPHA) -> float:
    """Return the exact power of the two-proportion z test with n questions per group, summed over all outcomes."""
    first, second = probabilities(n, base), probabilities(n, base - drop)
    x, y = np.flatnonzero(first > _NEGLIGIBLE), np.flatnonzero(second > _NEGLIGIBLE)
    pooled = np.add.outer(x, y) / (2 * n)
    error = np.sqrt(pooled * (1 - pooled) * 2 / n)
    rejected = np.abs(np.subtract.outer(x, y)) / n >= two_sided(1 - alpha) * error
    return float(first[x] @ (rejected & (error > 0)) @ second[y])


def exact_size(power_of: Callable[[int], float], start: int, power: float = POWER) -> int:
    """Return the first of several consecutive sample sizes that all reach the required power.

    Args:
        power_of: Returns the power for a size.
        start: A size close to the result, e.g. from the normal approximation.
        power: The power to reach.
    """
    size = start
    while size > _STEADY and power_of(size) >= power:
        size -= _STEADY
    reached = 0
    while reached < _STEADY:
        reached = reached + 1 if power_of(size) >= power else 0
        size += 1
    return size - _STEADY


def detectable_drop(is_detected: Callable[[float], bool], most: float) -> float | None:
    """Return the smallest detectable drop, or None if even the largest drop is not detectable.

    Args:
        is_detected: Returns whether a drop is detected. If it is, so are all larger drops.
        most: The largest possible drop.
    """
    if not is_detected(most):
        return None
    low, high = 0.0, most
    while high - low > _DROP_PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if is_detected(middle) else (middle, high)
    return high


# Maximum number of items for exact sums. With more items, exact sums take too long, and the normal approximation is
# accurate enough.
MOST_ITEMS = 100_000


@dataclass(frozen=True)
class Design:
    """A design for comparing two conditions.

    `most` is the largest possible drop, `size` returns the number of questions needed for a drop and a power by the
    normal approximation, and `power` returns the exact power to detect a drop with a number of questions.
    """

    name: str
    assumes: str
    most: float
    size: Callable[[float, float], int]
    power: Callable[[int, float], float]


def paired_design(discordance: float | None = None, times: int = 2, alpha: float = ALPHA) -> Design:
    """Return a design that compares two conditions on the same questions with the exact McNemar test.

    Args:
        discordance: Share of questions whose verdict changes in either direction; None for a multiple of the drop.
        times: The multiple of the drop to use if `discordance` is None.
        alpha: Two-sided level of the test.
    """

    def changed(drop: float) -> float:
        return times * drop if discordance is None else discordance

    share = f"{times} × the drop" if discordance is None else f"{100 * discordance:.4g}%"
    return Design(
        "paired",
        f"verdicts that change: {share}",
        1 / times if discordance is None else discordance,
        lambda drop, power: paired_size(drop, changed(drop), power, alpha),
        lambda n, drop: paired_power(n, drop, changed(drop), alpha),
    )


def unpaired_design(base: float, alpha: float = ALPHA) -> Design:
    """Return a design that compares two groups of different questions with the z test. Sample sizes are per group.

    Args:
        base: Accuracy before the drop.
        alpha: Two-sided level of the test.
    """
    return Design(
        "unpaired, each group",
        f"accuracy before: {100 * base:.4g}%",
        base,
        lambda drop, power: unpaired_size(base, drop, power, alpha),
        lambda n, drop: unpaired_power(n, base, drop, alpha),
    )


@dataclass(frozen=True)
class SamplePlan:
    """The result of sample-size planning. Values that were not requested or have no solution are None."""

    design: str
    assumes: str
    drop: float | None  # the requested drop, or the smallest detectable drop according to the normal approximation
    items: int | None  # the requested number of questions, or the number from the normal approximation
    power: float | None  # exact power for that drop and number of questions
    exact_drop: float | None = None  # the smallest drop for which the exact power reaches the requested power
    # The smallest number of questions for which the exact power reaches the requested power.
    exact_items: int | None = None


def plan_items(design: Design, drop: float, power: float) -> SamplePlan:
    """Compute how many questions are needed to detect a drop."""
    if drop > design.most:
        return SamplePlan(design.name, design.assumes, drop, None, None)
    size = design.size(drop, power)
    if size > MOST_ITEMS:
        return SamplePlan(design.name, design.assumes, drop, size, None)
    exact = exact_size(lambda n: design.power(n, drop), size, power)
    return SamplePlan(design.name, design.assumes, drop, size, design.power(size, drop), exact_items=exact)


def plan_drop(design: Design, items: int, power: float) -> SamplePlan:
    """Compute the smallest drop that can be detected with a given number of questions."""
    drop = detectable_drop(lambda size: design.size(size, power) <= items, design.most)
    exact = detectable_drop(lambda size: design.power(items, size) >= power, design.most)
    chance = None if drop is None else design.power(items, drop)
    return SamplePlan(design.name, design.assumes, drop, items, chance, exact_drop=exact)


def plan_power(design: Design, items: int, drop: float) -> SamplePlan:
    """Compute the probability of detecting a drop with a given number of questions."""
    chance = design.power(items, drop) if drop <= design.most else None
    return SamplePlan(design.name, design.assumes, drop, items, chance)

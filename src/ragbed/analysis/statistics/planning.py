"""Sample-size planning: find the number of questions, the detectable drop or the power of a comparison.

Power is computed exactly by summing over all outcomes of the test, because the textbook normal approximations (Connor
1987 for pairs, Fleiss for two groups) are several points too optimistic. They give the sizes at which searches start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ragbed.analysis.statistics.rates import ALPHA, quantile, two_sided
from ragbed.analysis.statistics.testing import probabilities, sign_test

POWER = 0.8
# Maximum number of questions for exact sums. Above it, they take too long, and the approximation is accurate enough.
MOST_ITEMS = 100_000
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


def rate_size(null: float, share: float, level: float, power: float = POWER) -> float:
    """Return the number of questions needed to show that a rate differs from a limit, using the normal approximation.

    Args:
        null: The limit.
        share: The rate.
        level: One-sided confidence level.
        power: Probability of showing it.
    """
    if share == null or null in (0, 1):
        return math.inf
    if share in (0, 1):  # exact, if all results are the same
        return math.log(1 - level) / math.log(null if share else 1 - null)
    reach = quantile(level) * math.sqrt(null * (1 - null)) + quantile(power) * math.sqrt(share * (1 - share))
    return (reach / (share - null)) ** 2


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


@dataclass(frozen=True)
class SamplePlan:
    """A number of questions, a drop in accuracy, and the power to detect it; None for values that do not exist."""

    design: str
    assumes: str
    drop: float | None
    items: int | None
    power: float | None


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

    def plan(self, drop: float | None, items: int | None, power: float) -> SamplePlan:
        """Compute the number of questions for a drop, the smallest drop for a number of questions, or their power.

        Args:
            drop: The drop to detect, or None to compute it.
            items: The number of questions, or None to compute it.
            power: Probability of detecting the drop, if it is not computed.
        """
        plan = SamplePlan(self.name, self.assumes, drop, items, None)
        if drop is None and items is not None:
            plan = replace(plan, drop=self._smallest_drop(items, power))
        elif drop is not None and drop > self.most:
            return plan
        elif drop is not None and items is None:
            plan = replace(plan, items=self._exact_size(drop, power))
        if plan.drop is None or plan.items is None or plan.items > MOST_ITEMS:
            return plan
        return replace(plan, power=self.power(plan.items, plan.drop))

    def _exact_size(self, drop: float, power: float) -> int:
        """Return the first of several consecutive sample sizes that all reach the required power."""
        size = self.size(drop, power)
        if size > MOST_ITEMS:
            return size
        while size > _STEADY and self.power(size, drop) >= power:
            size -= _STEADY
        reached = 0
        while reached < _STEADY:
            reached = reached + 1 if self.power(size, drop) >= power else 0
            size += 1
        return size - _STEADY

    def _smallest_drop(self, items: int, power: float) -> float | None:
        """Return the smallest detectable drop, or None if even the largest drop is not detectable."""
        if self.power(items, self.most) < power:
            return None
        low, high = 0.0, self.most
        while high - low > _DROP_PRECISION:
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(items, middle) >= power else (middle, high)
        return high


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

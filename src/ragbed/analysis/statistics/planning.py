"""Sample-size planning: find the number of questions, the detectable drop or the power of a paired comparison.

Power is computed exactly by summing over all outcomes of the test, because the textbook normal approximation (Connor
1987) is several points too optimistic. It gives the size at which searches start.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from ragbed.analysis.statistics.rates import ALPHA, quantile, two_sided
from ragbed.analysis.statistics.testing import probabilities, sign_test

POWER = 0.8
# Maximum number of questions for exact sums. Above it, they take too long, and the approximation is accurate enough.
MOST_ITEMS = 100_000
_NEGLIGIBLE = 1e-9  # probability below which an outcome is omitted from an exact sum
_DROPS = 100_000  # number of drops between 0 and 1 from which the smallest detectable one is chosen
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


def paired_power(n: int, drop: float, discordance: float, alpha: float = ALPHA) -> float:
    """Return the exact power of McNemar's test, summed over all counts of verdict changes in each direction."""
    won = (discordance + drop) / (2 * discordance)
    chances = probabilities(n, discordance)
    total = 0.0
    for moved in np.flatnonzero(chances > _NEGLIGIBLE).tolist():
        wins = np.arange(moved + 1)
        total += float(chances[moved]) * float(probabilities(moved, won)[sign_test(wins, moved - wins) < alpha].sum())
    return total


class SamplePlan(NamedTuple):
    """A number of questions, a drop in accuracy, and the power to detect it; None for values that do not exist."""

    assumes: str
    drop: float | None
    items: int | None
    power: float | None


class PairedDesign(NamedTuple):
    """A comparison of two conditions on the same questions with the exact McNemar test.

    `discordance` is the share of questions whose verdict changes in either direction, or None for `times` the drop.
    """

    discordance: float | None = None
    times: int = 2
    alpha: float = ALPHA

    def changed(self, drop: float) -> float:
        """Return the share of questions whose verdict changes."""
        return self.times * drop if self.discordance is None else self.discordance

    def power(self, n: int, drop: float) -> float:
        """Return the exact power to detect a drop with n questions."""
        return paired_power(n, drop, self.changed(drop), self.alpha)

    def plan(self, drop: float | None, items: int | None, power: float) -> SamplePlan:
        """Compute the number of questions for a drop, the smallest drop for a number of questions, or their power.

        Args:
            drop: The drop to detect, or None to compute it.
            items: The number of questions, or None to compute it.
            power: Probability of detecting the drop, if it is not computed.
        """
        most = 1 / self.times if self.discordance is None else self.discordance
        share = f"{self.times} × the drop" if self.discordance is None else f"{100 * self.discordance:.4g}%"
        assumes = f"verdicts that change: {share}"
        if drop is None and items is not None:
            drop = self._smallest_drop(items, power, most)
        elif drop is not None and drop > most:
            return SamplePlan(assumes, drop, items, None)
        elif drop is not None and items is None:
            items = self._exact_size(drop, power)
        is_known = drop is not None and items is not None and items <= MOST_ITEMS
        return SamplePlan(assumes, drop, items, self.power(items or 0, drop or 0) if is_known else None)

    def _exact_size(self, drop: float, power: float) -> int:
        """Return the first of several consecutive sample sizes that all reach the required power."""
        size = paired_size(drop, self.changed(drop), power, self.alpha)
        if size > MOST_ITEMS:
            return size
        while size > _STEADY and self.power(size, drop) >= power:
            size -= _STEADY
        reached = 0
        while reached < _STEADY:
            reached = reached + 1 if self.power(size, drop) >= power else 0
            size += 1
        return size - _STEADY

    def _smallest_drop(self, items: int, power: float, most: float) -> float | None:
        """Return the smallest detectable drop, or None if even the largest drop is not detectable."""
        drops = [step / _DROPS for step in range(1, int(most * _DROPS) + 1)]
        at = bisect_left(drops, True, key=lambda drop: self.power(items, drop) >= power)
        return drops[at] if at < len(drops) else None

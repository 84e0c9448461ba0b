"""Sample size planning: the number of questions, the detectable drop, or the power of a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ragbed.analysis.statistics.power import (
    detectable_drop,
    exact_size,
    paired_power,
    paired_size,
    unpaired_power,
    unpaired_size,
)
from ragbed.analysis.statistics.rates import ALPHA

# Above this, exact sums take too long, and the normal approximation is good enough.
MOST_ITEMS = 100_000


@dataclass(frozen=True)
class Paired:
    """The same questions under two conditions, compared with the exact McNemar test.

    `discordance` is the share of questions whose verdict changes, in either direction. If it is None, it is `times`
    times the drop.
    """

    discordance: float | None = None
    times: int = 2
    alpha: float = ALPHA
    name = "paired"

    @property
    def assumes(self) -> str:
        """Describe the assumption of the design."""
        if self.discordance is None:
            return f"verdicts that change: {self.times} × the drop"
        return f"verdicts that change: {100 * self.discordance:.4g} %"

    @property
    def most(self) -> float:
        """Return the largest possible drop."""
        return 1 / self.times if self.discordance is None else self.discordance

    def size(self, drop: float, power: float) -> int:
        """Return the number of questions by the normal approximation."""
        return paired_size(drop, self._changed(drop), power, self.alpha)

    def power(self, n: int, drop: float) -> float:
        """Return the exact power of the test."""
        return paired_power(n, drop, self._changed(drop), self.alpha)

    def _changed(self, drop: float) -> float:
        return self.times * drop if self.discordance is None else self.discordance


@dataclass(frozen=True)
class Unpaired:
    """Different questions in two groups, compared with the z test. Sizes are per group.

    `base` is the accuracy before the drop.
    """

    base: float
    alpha: float = ALPHA
    name = "unpaired, each group"

    @property
    def assumes(self) -> str:
        """Describe the assumption of the design."""
        return f"accuracy before: {100 * self.base:.4g} %"

    @property
    def most(self) -> float:
        """Return the largest possible drop."""
        return self.base

    def size(self, drop: float, power: float) -> int:
        """Return the number of questions by the normal approximation."""
        return unpaired_size(self.base, drop, power, self.alpha)

    def power(self, n: int, drop: float) -> float:
        """Return the exact power of the test."""
        return unpaired_power(n, self.base, drop, self.alpha)


Design: TypeAlias = Paired | Unpaired


@dataclass(frozen=True)
class SamplePlan:
    """The result of a plan. Values that were not requested or do not exist are None."""

    design: str
    assumes: str
    drop: float | None  # as requested, or the least detectable one by the normal approximation
    items: int | None  # as requested, or by the normal approximation
    power: float | None  # exact, for that drop and number of questions
    exact_drop: float | None = None  # the least drop that reaches the requested power exactly
    exact_items: int | None = None  # the least number of questions that reaches the requested power exactly


def plan_items(design: Design, drop: float, power: float) -> SamplePlan:
    """Plan how many questions are needed to detect a drop."""
    if drop > design.most:
        return SamplePlan(design.name, design.assumes, drop, None, None)
    size = design.size(drop, power)
    if size > MOST_ITEMS:
        return SamplePlan(design.name, design.assumes, drop, size, None)
    exact = exact_size(lambda n: design.power(n, drop), size, power)
    return SamplePlan(design.name, design.assumes, drop, size, design.power(size, drop), exact_items=exact)


def plan_drop(design: Design, items: int, power: float) -> SamplePlan:
    """Plan which drop a number of questions can detect."""
    drop = detectable_drop(lambda size: design.size(size, power) <= items, design.most)
    exact = detectable_drop(lambda size: design.power(items, size) >= power, design.most)
    chance = None if drop is None else design.power(items, drop)
    return SamplePlan(design.name, design.assumes, drop, items, chance, exact_drop=exact)


def plan_power(design: Design, items: int, drop: float) -> SamplePlan:
    """Plan the probability to detect a drop with a number of questions."""
    chance = design.power(items, drop) if drop <= design.most else None
    return SamplePlan(design.name, design.assumes, drop, items, chance)

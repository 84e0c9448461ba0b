"""Plans: for a way to compare, the questions that a drop needs, the drop that questions show, the chance to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ragbed.analysis.statistics.power import (
    detectable_drop,
    exact_size,
    paired_power,
    paired_size,
    unpaired_power,
    unpaired_size,
)
from ragbed.analysis.statistics.rates import ALPHA

MOST_ITEMS = 100_000
"""Exact sums over more outcomes take too long, and so large a plan can rely on the approximation."""


class Design(Protocol):
    """A way to compare two conditions, with what is assumed about it."""

    name: str

    @property
    def assumes(self) -> str:
        """In words."""

    @property
    def most(self) -> float:
        """The largest drop that can be."""

    def size(self, drop: float, power: float) -> int:
        """The textbook's number of questions."""

    def power(self, n: int, drop: float) -> float:
        """The exact power of the test."""


@dataclass(frozen=True)
class Paired:
    """The same questions twice, tested by exact McNemar."""

    discordance: float | None = None
    """Share of questions whose verdict changes, either way; None for a multiple of the drop."""
    times: int = 2
    alpha: float = ALPHA
    name = "paired"

    @property
    def assumes(self) -> str:
        """How many verdicts change."""
        if self.discordance is None:
            return f"verdicts that change: {self.times} × the drop"
        return f"verdicts that change: {100 * self.discordance:.4g} %"

    @property
    def most(self) -> float:
        """No more can fall than change."""
        return 1 / self.times if self.discordance is None else self.discordance

    def size(self, drop: float, power: float) -> int:
        """The textbook's number of questions."""
        return paired_size(drop, self._changed(drop), power, self.alpha)

    def power(self, n: int, drop: float) -> float:
        """The exact power of McNemar's test."""
        return paired_power(n, drop, self._changed(drop), self.alpha)

    def _changed(self, drop: float) -> float:
        return self.times * drop if self.discordance is None else self.discordance


@dataclass(frozen=True)
class Unpaired:
    """Different questions in two groups, tested by z; sizes are of each group."""

    base: float
    """Accuracy before the drop."""
    alpha: float = ALPHA
    name = "unpaired, each group"

    @property
    def assumes(self) -> str:
        """Where the drop starts."""
        return f"accuracy before: {100 * self.base:.4g} %"

    @property
    def most(self) -> float:
        """No more can fall than there is."""
        return self.base

    def size(self, drop: float, power: float) -> int:
        """The textbook's number of questions."""
        return unpaired_size(self.base, drop, power, self.alpha)

    def power(self, n: int, drop: float) -> float:
        """The exact power of the z test."""
        return unpaired_power(n, self.base, drop, self.alpha)


@dataclass(frozen=True)
class SamplePlan:
    """One answer; what is not asked for or cannot be had is None."""

    design: str
    assumes: str
    drop: float | None
    """As asked, or the least that the textbook says is seen."""
    items: int | None
    """As asked, or the textbook's."""
    power: float | None
    """Exact, with that drop and number."""
    exact_drop: float | None = None
    """The least drop that is seen with the wanted power, exactly."""
    exact_items: int | None = None
    """The least number of questions that has the wanted power, exactly."""


def plan_items(design: Design, drop: float, power: float) -> SamplePlan:
    """How many questions a drop needs."""
    if drop > design.most:
        return SamplePlan(design.name, design.assumes, drop, None, None)
    size = design.size(drop, power)
    if size > MOST_ITEMS:
        return SamplePlan(design.name, design.assumes, drop, size, None)
    exact = exact_size(lambda n: design.power(n, drop), size, power)
    return SamplePlan(design.name, design.assumes, drop, size, design.power(size, drop), exact_items=exact)


def plan_drop(design: Design, items: int, power: float) -> SamplePlan:
    """Which drop so many questions show."""
    drop = detectable_drop(lambda one: design.size(one, power) <= items, design.most)
    exact = detectable_drop(lambda one: design.power(items, one) >= power, design.most)
    chance = None if drop is None else design.power(items, drop)
    return SamplePlan(design.name, design.assumes, drop, items, chance, exact_drop=exact)


def plan_power(design: Design, items: int, drop: float) -> SamplePlan:
    """The chance to see a drop with so many questions."""
    chance = design.power(items, drop) if drop <= design.most else None
    return SamplePlan(design.name, design.assumes, drop, items, chance)

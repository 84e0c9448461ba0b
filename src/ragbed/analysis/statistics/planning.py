"""Sample-size planning: find the number of questions, the detectable drop or the power of a design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragbed.analysis.statistics.power import (
    detectable_drop,
    exact_size,
    paired_power,
    paired_size,
    unpaired_power,
    unpaired_size,
)
from ragbed.analysis.statistics.rates import ALPHA

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
    drop: float | None  # the requested drop, or the smallest detectable drop by the normal approximation
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

"""How many documents items have, and which default conditions follow where that is too few for the usual ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import median_low
from typing import NamedTuple

from ragbed.testbeds.settings import Arm, CaseCondition

_USABLE = 0.25
"""Share of items that must be feasible under a usual condition for it to count as usable: RGB's en_fact has 0.38."""
_FITTING = 0.5
"""Share of items that must be feasible under a condition that replaces a usual one."""
_DISTRACTORS = (0, 1, 2, 4)
"""Distractors beside the least evidence that answers a question."""


class Supply(NamedTuple):
    """How many documents an item has for a testbed."""

    bearing: int
    """Documents that contain an answer."""
    fewest: int
    """How many of these every case needs."""
    distracting: int

    def mixes(self, docs: int) -> range:
        """How many of so many documents may be distractors."""
        return range(max(0, docs - self.bearing), min(self.distracting, docs - self.fewest) + 1)

    def allows(self, condition: CaseCondition) -> bool:
        """Whether the item is feasible under a condition."""
        return condition.distracting in self.mixes(condition.docs)


def fit_conditions(usual: Sequence[CaseCondition], supplies: Sequence[Supply]) -> list[CaseCondition]:
    """Return the usual conditions, or those that the items can supply where most of the usual ones are unusable."""
    usable = [condition for condition in usual if _share(supplies, condition) >= _USABLE]
    if not supplies or 2 * len(usable) >= len(usual):
        return list(usual)
    return [one for one in _replacements(usual, supplies) if _share(supplies, one) >= _FITTING] or list(usual)


def _replacements(usual: Sequence[CaseCondition], supplies: Sequence[Supply]) -> list[CaseCondition]:
    """Conditions with fewer documents: a single one where one ratio is usual, else ever more distractors."""
    ratios = {condition.noise for condition in usual}
    if len(ratios) == 1:
        smaller = (replace(usual[0], docs=docs) for docs in range(usual[0].docs, 0, -1))
        return [next((one for one in smaller if _share(supplies, one) >= _FITTING), usual[0])]
    evidence = median_low([supply.fewest for supply in supplies])
    arm: Arm = "fixed" if evidence == 1 else "related"
    return [
        CaseCondition(Fraction(count, evidence + count), evidence + count, usual[0].correct, arm)
        for count in _DISTRACTORS
    ]


def _share(supplies: Sequence[Supply], condition: CaseCondition) -> float:
    return sum(supply.allows(condition) for supply in supplies) / len(supplies) if supplies else 0.0

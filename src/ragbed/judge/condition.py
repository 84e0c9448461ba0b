"""What a judged rate is a rate of."""

from __future__ import annotations

from typing import NamedTuple

from ragbed.run.store import Stored


class Condition(NamedTuple):
    """One model under one condition: what is added up, and corrected, together."""

    model: str
    data: str
    lang: str
    testbed: str
    noise: float | None
    correct: float
    k: int
    arm: str
    profile: str


def condition_of(stored: Stored) -> Condition:
    """The condition of a result."""
    case = stored.case
    mix = (case.noise, case.correct, case.k, case.arm, case.profile)
    return Condition(stored.model, case.data, case.lang, case.testbed, *mix)

"""What a rate is a rate of: one model under one condition."""

from __future__ import annotations

from msgspec import Struct

from ragbed.schema import Case


class Condition(Struct, frozen=True):
    """What trials are added up by, in tables, by judges and in the viewer, whose records add their counts to it."""

    model: str
    data: str
    lang: str
    testbed: str
    noise: float | None
    correct: float
    k: int
    arm: str
    profile: str


def condition_of(model: str, case: Case) -> Condition:
    """The condition of a case that a model was asked."""
    mix = (case.noise, case.correct, case.k, case.arm, case.profile)
    return Condition(model, case.data, case.lang, case.testbed, *mix)

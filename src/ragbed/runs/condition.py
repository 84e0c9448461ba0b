"""The condition of a trial: model, dataset, testbed and document mix."""

from __future__ import annotations

from msgspec import Struct

from ragbed.schema import Case


class Condition(Struct, frozen=True):
    """The fields by which trials are grouped in tables, judgements and the viewer; subclasses add counts."""

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
    """Return the condition for a model's trials on a case."""
    mix = (case.noise, case.true_ratio, case.k, case.arm, case.profile)
    return Condition(model, case.data, case.lang, case.testbed, *mix)

"""The input to metrics: one small record per trial, including infeasible cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.schema import Case

Asked: TypeAlias = Literal["ok", "truncated", "filtered", "error", "infeasible"]

ScoreValue: TypeAlias = bool | float | str | tuple[int, ...] | None


class Scored(Struct, frozen=True, kw_only=True, gc=False):
    """A trial without its texts: condition, outcome and scores."""

    model: str
    data: str
    item: str
    lang: str
    testbed: str
    profile: str
    noise: float | None
    noise_real: float | None = None
    correct: float = 0.0  # share of true documents, for counterfactual cases
    k: int
    arm: str = "related"
    seed: int = 0
    slots: tuple[int, ...] = ()
    repeat: int = 0
    outcome: Asked = "ok"
    cluster: str | None = None  # the unit for resampling: the event that items share, or None for the item itself
    scores: dict[str, ScoreValue] | None = None  # scores by name, e.g. `code.correct`; None if there is no response


def to_scored(case: Case, model: str, repeat: int, outcome: Asked, scores: Mapping[str, ScoreValue] | None) -> Scored:
    """Return the scored trial for a case."""
    return Scored(
        model=model,
        data=case.data,
        item=case.item,
        lang=case.lang,
        testbed=case.testbed,
        profile=case.profile,
        noise=case.noise,
        noise_real=case.noise_real,
        correct=case.true_ratio,
        k=case.k,
        arm=case.arm,
        seed=case.seed,
        slots=case.slots,
        repeat=repeat,
        outcome=outcome,
        cluster=case.event,
        scores=None if scores is None else dict(scores),
    )

"""Trials that are not stored in a run: predicted ones, and those of a study's recordings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from ragbed.analysis.trials.columns import (
    CaseColumns,
    Numbering,
    TrialColumns,
    TrialPart,
    VerdictColumns,
    group_trials,
)
from ragbed.scoring.value import Value
from ragbed.testbeds import headline_score

TrialOutcome: TypeAlias = Literal["ok", "truncated", "filtered", "error", "infeasible"]


class Trial(Struct, frozen=True, kw_only=True, gc=False):
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
    outcome: TrialOutcome = "ok"
    cluster: str | None = None  # the unit for resampling: the event that items share, or None for the item itself
    scores: Mapping[str, Value] | None = None  # scores by name, e.g. `code.correct`; None if there is no response


def group_rows(trials: Iterable[Trial], largest: int = 0) -> list[TrialColumns]:
    """Group trials by model, dataset, language and profile (see `group_trials`)."""
    shared = Numbering()
    cases = CaseColumns(shared)
    models: dict[str, int] = {}
    rows = list(trials)
    for number, trial in enumerate(rows):
        mix = (trial.noise, trial.correct, trial.k, trial.arm)
        slot = trial.slots[0] if trial.slots else -1
        real = None if trial.noise_real is None else round(trial.noise_real, 3)
        feasible, headline = trial.outcome != "infeasible", headline_score(trial.testbed, trial.arm)
        condition = (trial.data, trial.lang, trial.testbed, *mix, trial.profile)
        case = (slot, trial.seed, real, feasible, headline)
        cases.add(number, condition, (trial.item, trial.cluster), case)
    part = TrialPart(
        cases=cases,
        verdicts=VerdictColumns([(trial.outcome, False, trial.scores or {}) for trial in rows]),
        labels=list(dict.fromkeys(trial.model for trial in rows)),
        model=np.array([models.setdefault(trial.model, len(models)) for trial in rows], np.int64),
        case=np.arange(len(rows)),
        repeat=np.array([trial.repeat for trial in rows], np.int64),
        score=np.arange(len(rows)),
        dollars=np.full(len(rows), nan),
        is_unpriced=np.zeros(len(rows), np.bool_),
    )
    return group_trials([part], shared, largest)

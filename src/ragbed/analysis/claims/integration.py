"""C5 and C7: how well several facts are put together, and how it goes wrong."""

from __future__ import annotations

import math

from ragbed.analysis.claims.base import (
    MIN_QUESTIONS,
    ClaimEvidence,
    ClaimFinding,
    ClaimInputs,
    Verdict,
    against_bound,
    conclude,
    evidence,
)
from ragbed.analysis.diagnosis.causes import share_types
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.paper.tables import read_tables
from ragbed.analysis.statistics.rates import LEVEL, wilson

_TYPES = {"as in noise robustness": "E7", "merging": "E4", "ignoring": "E5", "misalignment": "E6"}
"""What the paper calls the types whose shares it prints."""


def stay_below_the_papers_best(grounds: ClaimInputs) -> ClaimFinding:
    """C5: no model does better than the paper's best, without noise (60 and 67 %) and at 0.4 (43 and 55 %)."""
    table = read_tables().integration
    rows = []
    for cell in grounds.of("integration", "accuracy"):
        ratio = cell.place.get("noise") or 0.0
        for place, column in enumerate(table.columns):
            if math.isclose(float(column), ratio, abs_tol=1e-9) and column in ("0", "0.4"):
                best = max(row[place] for row in getattr(table, cell.key.lang).values()) / 100
                rows.append(evidence(cell, "accuracy", against_bound(cell.estimate, best)))
    return conclude("C5", rows)


def err_as_the_paper_counts(grounds: ClaimInputs) -> ClaimFinding:
    """C7: integration errors without noise divide into types as the paper prints them (38, 28, 28 and 6 %).

    Its shares are of a sample (S-4), so each is held against an interval, adjusted for there being four.
    """
    errors = read_tables().integration_errors
    here = [
        cause
        for cause in grounds.causes
        if cause.case.testbed == "integration" and float(cause.case.settings.get("noise", "nan")) == 0
    ]
    rows = []
    for model, data in dict.fromkeys((cause.model, cause.case.data) for cause in here):
        own = [cause for cause in here if (cause.model, cause.case.data) == (model, data)]
        if len({cause.case.item for cause in own}) < MIN_QUESTIONS:
            continue
        counts, n = share_types(own), len(own)
        profile = own[0].case.settings.get("profile", "")
        for name, share in errors.shares.items():
            interval = wilson(counts.get(_TYPES[name], 0), n, 1 - (1 - LEVEL) / len(errors.shares))
            fits = interval.low <= share / 100 <= interval.high
            verdict: Verdict = "supported" if fits else "contradicted"
            rows.append(ClaimEvidence(TrialGroup(model, data, "", profile), _TYPES[name], *interval, n, verdict))
    return conclude("C7", rows)

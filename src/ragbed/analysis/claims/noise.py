"""C2 and C6: where accuracy declines with noise, and whether questions with several parts suffer more."""

from __future__ import annotations

import math

from ragbed.analysis.claims.base import (
    ClaimEvidence,
    ClaimFinding,
    ClaimInputs,
    Verdict,
    conclude,
    evidence,
    gap_between,
    panels,
)
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.rates import ALPHA

LATE = 0.8
"""The ratio at which, and not before, the paper sees simple questions decline."""
EARLY = 0.4
"""The ratio at which it sees questions with several parts decline."""


def decline_only_late(grounds: ClaimInputs) -> ClaimFinding:
    """C2: accuracy falls with noise, significantly at 0.8 and not before.

    A decline is more than 3 points, by the minimum-effect test, adjusted over the ratios (`decline_holm`). One before
    0.8 contradicts, and so does an accuracy that is shown to be the same at 0.8 (`same_holm`).
    """
    rows = []
    for group in panels(grounds.of("noise", "change")):
        for cell in group:
            ratio, p = cell.place.get("noise") or 0.0, grounds.beside(cell, "decline_holm")
            if p is not None and p.value is not None:
                rows.append(evidence(cell, "change", _of_ratio(grounds, cell, ratio, p.value), p=p.value))
    return conclude("C2", [row for row in rows if row.verdict != "inconclusive" or (row.at or 0) >= LATE])


def _of_ratio(grounds: ClaimInputs, cell: Cell, ratio: float, p: float) -> Verdict:
    if ratio < LATE - 1e-9:
        return "contradicted" if p < ALPHA else "inconclusive"
    if p < ALPHA:
        return "supported"
    same = grounds.beside(cell, "same_holm")
    return "contradicted" if same is not None and same.value is not None and same.value < ALPHA else "inconclusive"


def several_parts_suffer_more(grounds: ClaimInputs) -> ClaimFinding:
    """C6: at 0.4, questions with several parts lose more than simple ones; z test of the two changes."""
    simple = {
        (cell.key.model, cell.key.lang, cell.key.profile, cell.place.get("k")): cell.estimate
        for cell in grounds.of("noise", "change")
        if math.isclose(cell.place.get("noise") or 0.0, EARLY)
    }
    pairs = []
    for cell in grounds.of("integration", "change"):
        other = simple.get((cell.key.model, cell.key.lang, cell.key.profile, cell.place.get("k")))
        if other is not None and math.isclose(cell.place.get("noise") or 0.0, EARLY):
            pairs.append((cell, gap_between(cell.estimate, other)))
    adjusted = holm([gap.p for _, gap in pairs]).tolist() if pairs else []
    return conclude(
        "C6",
        (
            ClaimEvidence(cell.key, "change_gap", *gap[:3], cell.estimate.questions, _more(gap.value, p), p, EARLY)
            for (cell, gap), p in zip(pairs, adjusted, strict=True)
        ),
    )


def _more(gap: float, p: float) -> Verdict:
    return "inconclusive" if p >= ALPHA else "supported" if gap < 0 else "contradicted"

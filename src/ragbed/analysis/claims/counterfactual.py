"""C8: whether models believe false documents rather than what they know."""

from __future__ import annotations

from ragbed.analysis.claims.base import ClaimFinding, ClaimInputs, Verdict, conclude, evidence
from ragbed.schema import Estimate

_HALF = 0.5


def believe_false_documents(grounds: ClaimInputs) -> ClaimFinding:
    """C8: of the questions that a model answers without documents, it repeats the false answer on most.

    The rate is over known questions only, item by item, with all documents false and the warning in the instruction.
    """
    return conclude(
        "C8",
        (
            evidence(cell, "override_of_known", _most(cell.estimate))
            for cell in grounds.of("counterfactual", "override_of_known")
            if not cell.place.get("correct") and not cell.place.get("noise")
        ),
    )


def _most(estimate: Estimate) -> Verdict:
    if estimate.low is None or estimate.high is None:
        return "inconclusive"
    return "supported" if estimate.low > _HALF else "contradicted" if estimate.high < _HALF else "inconclusive"

"""The paper's claims C1 to C10, each held against what runs show: one pure function a claim.

All read the robust track, on all questions, whatever track tables show. To change how a claim is checked, change its
function; what it says and how it is decided is told in `words/`.
"""

from __future__ import annotations

from collections.abc import Callable

from ragbed.analysis.claims import counterfactual, documents, integration, noise, rejection, remedies
from ragbed.analysis.claims.base import MIN_QUESTIONS, ClaimEvidence, ClaimFinding, ClaimInputs, Verdict

__all__ = ["CLAIMS", "MIN_QUESTIONS", "ClaimEvidence", "ClaimFinding", "ClaimInputs", "Verdict", "check_claims"]


CLAIMS: dict[str, Callable[[ClaimInputs], ClaimFinding]] = {
    "C1": documents.help_even_with_noise,
    "C2": noise.decline_only_late,
    "C3": rejection.refuse_seldom,
    "C4": rejection.refuse_in_other_words,
    "C5": integration.stay_below_the_papers_best,
    "C6": noise.several_parts_suffer_more,
    "C7": integration.err_as_the_paper_counts,
    "C8": counterfactual.believe_false_documents,
    "C9": documents.refuse_less_than_without,
    "C10": remedies.help_as_hoped,
}


def check_claims(grounds: ClaimInputs) -> list[ClaimFinding]:
    """All claims, in their order."""
    return [check(grounds) for check in CLAIMS.values()]

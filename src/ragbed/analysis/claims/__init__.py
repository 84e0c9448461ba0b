"""Check the paper's claims C1 to C10 against run results.

All checks use the robust track over all questions, regardless of the track that the tables show. `checks.py` has one
function per claim. The texts of the claims and their decision rules are in `analysis/locale`.
"""

from __future__ import annotations

from collections.abc import Callable

from ragbed.analysis.claims import checks
from ragbed.analysis.claims.base import MIN_QUESTIONS, ClaimEvidence, ClaimFinding, ClaimInputs, Verdict

__all__ = ["CLAIMS", "MIN_QUESTIONS", "ClaimEvidence", "ClaimFinding", "ClaimInputs", "Verdict", "check_claims"]

CLAIMS: dict[str, Callable[[ClaimInputs], ClaimFinding]] = {
    "C1": checks.help_even_with_noise,
    "C2": checks.decline_only_late,
    "C3": checks.refuse_seldom,
    "C4": checks.refuse_in_other_words,
    "C5": checks.stay_below_the_papers_best,
    "C6": checks.several_parts_suffer_more,
    "C7": checks.err_as_the_paper_counts,
    "C8": checks.believe_false_documents,
    "C9": checks.refuse_less_than_without,
    "C10": checks.help_as_hoped,
}


def check_claims(inputs: ClaimInputs) -> list[ClaimFinding]:
    """Return the findings for all claims, in order."""
    return [check(inputs) for check in CLAIMS.values()]

"""Score the knowledge conflict in a case by the plausibility of the false answer in its documents.

This value belongs to no track and does not depend on the response.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring.value import Value
from ragbed.testbeds.conflict import CONFLICT, STRENGTHS


def score_conflict(case: Case) -> dict[str, Value]:
    """Return the index of the plausibility label, or an empty dict for other cases and unlabelled documents."""
    if case.testbed != CONFLICT.name:
        return {}
    kind = next((document.kind for document in case.documents if document.stance == "contradicts"), None)
    return {"false_strength": float(STRENGTHS.index(kind))} if kind in STRENGTHS else {}

"""Scores that belong to no track: those of retrieved passages, citations and conflicting documents."""

from __future__ import annotations

from collections.abc import Mapping

from ragbed.schema import Case, Completion
from ragbed.scoring.citations import score_citations
from ragbed.scoring.conflict import score_conflict
from ragbed.scoring.retrieval import score_retrieval
from ragbed.scoring.value import Value


def score_untracked(case: Case, completion: Completion, tracked: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values by name, for a response with the given scores on the tracks."""
    citations = score_citations(case, completion, refused=tracked.get("refused") is True)
    return score_retrieval(case, completion) | citations | score_conflict(case)

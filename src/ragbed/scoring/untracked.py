"""Compute the scores that belong to no track: retrieval, citations, conflicts, lengths, confidence and searches."""

from __future__ import annotations

from collections.abc import Mapping

from ragbed.schema import Case, Completion
from ragbed.scoring.citations import score_citations
from ragbed.scoring.confidence import score_confidence
from ragbed.scoring.conflict import score_conflict
from ragbed.scoring.length import score_length
from ragbed.scoring.retrieval import score_retrieval
from ragbed.scoring.search import score_search
from ragbed.scoring.value import Value


def score_untracked(case: Case, completion: Completion, tracked: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values by name, given the response's scores on the tracks."""
    refused = tracked.get("refused") is True
    values = score_citations(case, completion, refused=refused) | score_confidence(case, completion, refused=refused)
    values |= score_retrieval(case, completion) | score_conflict(case) | score_length(case, completion)
    return values | score_search(case, completion, tracked)

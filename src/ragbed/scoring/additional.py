"""Compute the scores that need no scorer: retrieval, citations, conflicts, lengths, searches and instructions."""

from __future__ import annotations

from collections.abc import Mapping

from ragbed.schema import Case, Completion
from ragbed.scoring.causes import find_cause
from ragbed.scoring.citations import score_citations
from ragbed.scoring.injection import score_injection
from ragbed.scoring.retrieval import score_retrieval
from ragbed.scoring.search import score_search
from ragbed.scoring.value import Value
from ragbed.testbeds.conflict import CONFLICT, STRENGTHS
from ragbed.testbeds.length import LENGTH
from ragbed.testbeds.own_rag import OWN_RAG
from ragbed.text import estimate_tokens


def score_additional(case: Case, completion: Completion, scored: Mapping[str, Value]) -> dict[str, Value]:
    """Return the scores that do not depend on the scorer, by name; `scored` are the scores of the scorers."""
    refused = scored.get("refused") is True
    values = score_citations(case, completion, refused=refused)
    values |= score_retrieval(case, completion) | score_conflict(case) | score_length(case, completion)
    values |= score_injection(case, completion)
    if case.testbed == OWN_RAG.name and (cause := find_cause(case, completion, {**scored, **values})) is not None:
        values["cause"] = cause
    return values | score_search(case, completion, scored)


def score_conflict(case: Case) -> dict[str, Value]:
    """Return a dict with the index of the false answer's plausibility label, or an empty dict if there is no label."""
    if case.testbed != CONFLICT.name:
        return {}
    kind = next((document.kind for document in case.documents if document.stance == "contradicts"), None)
    return {"false_strength": float(STRENGTHS.index(kind))} if kind in STRENGTHS else {}


def score_length(case: Case, completion: Completion) -> dict[str, Value]:
    """Return a dict with the reported or estimated prompt tokens, or an empty dict for testbeds other than `length`.

    If a call was repeated, the model reports the tokens of all attempts together, so the number is also an estimate.
    """
    if case.testbed != LENGTH.name:
        return {}
    reported = (completion.usage or {}).get("in", 0) if completion.attempts <= 1 and not completion.steps else 0
    estimate = sum(estimate_tokens(message.content) for message in case.messages)
    return {"prompt_tokens": float(reported or estimate), "tokens_estimated": not reported}

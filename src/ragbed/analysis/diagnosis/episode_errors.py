"""E14 to E17: errors in episodes of the `search` testbed. Each is defined like the metric of the same name."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.records import ErrorType, Evidence
from ragbed.runs.store import StoredResult
from ragbed.schema import Document, Search
from ragbed.scoring.search import found_passages, score_search

SEARCH = "search"
_MAX_SHOWN = 300  # maximum number of characters to store from a passage, or from all queries together


def with_found_passages(stored: StoredResult) -> StoredResult:
    """Return the episode with its case's documents replaced by the passages that its searches found."""
    found = {passage.id: passage for passage in found_passages(stored.completion)}
    documents = [
        Document(text=passage.text, stance=passage.stance or "distracts", kind=SEARCH, source=number, part=passage.part)
        for number, passage in enumerate(found.values())
    ]
    return structs.replace(stored, case=structs.replace(stored.case, documents=tuple(documents)))


def without_positions(evidence: Evidence) -> Evidence:
    """Return evidence without positions in documents, because retrieved passages are not numbered."""
    if evidence.document is None:
        return evidence
    return structs.replace(evidence, document=None, start=None, end=None)


def find_poor_query(trial: TrialContext) -> Iterator[Evidence]:
    """E14: no search found a passage that supports the answer."""
    if _scores(trial).get("poor_query"):
        yield Evidence(type="E14", **tell("poor-query"), cue=_queries(trial))


def find_ignored_passages(trial: TrialContext) -> Iterator[Evidence]:
    """E15: the searches found support for every part of the answer, but the response does not give the answer."""
    if _scores(trial).get("found_but_ignored"):
        yield _with_passage(trial, "E15", "found-ignored", "supports")


def find_early_stop(trial: TrialContext) -> Iterator[Evidence]:
    """E16: the model answered before its searches had found support for every part of the answer."""
    if _scores(trial).get("stopped_early"):
        text = tell("stopped-early" if _searches(trial) else "never-searched")
        yield Evidence(type="E16", **text, cue=_queries(trial))


def find_trusted_passage(trial: TrialContext) -> Iterator[Evidence]:
    """E17: the searches found a passage with a false answer, and the response gives that answer."""
    if _scores(trial).get("trusted_false"):
        yield _with_passage(trial, "E17", "trusted-passage", "contradicts")


def _scores(trial: TrialContext) -> dict[str, object]:
    judged = trial.judged
    tracked = {} if judged is None else {"correct": judged.correct, "refused": judged.refused, "misled": judged.misled}
    return dict(score_search(trial.case, trial.stored.completion, tracked))


def _with_passage(trial: TrialContext, kind: ErrorType, key: str, stance: str) -> Evidence:
    texts = (document.text for document in trial.case.documents if document.stance == stance)
    return Evidence(type=kind, **tell(key), sentence=next(texts, "")[:_MAX_SHOWN] or None, cue=_queries(trial))


def _searches(trial: TrialContext) -> list[Search]:
    return [search for step in trial.stored.completion.steps for search in step.searches if search.problem is None]


def _queries(trial: TrialContext) -> str | None:
    return "; ".join(search.query for search in _searches(trial))[:_MAX_SHOWN] or None

"""Score the passages that a RAG system retrieved for an end-to-end case, independently of its answer.

These values belong to no track. If a response does not list its passages, only `retrieval_told` is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragbed.schema import Case, Completion, Retrieved
from ragbed.scoring.value import Value

_LABELS = ("supports", "distracts", "contradicts", "unknown")


def score_retrieval(case: Case, completion: Completion) -> dict[str, Value]:
    """Return the values by name, or nothing for a case with given documents."""
    if case.corpus is None or completion.outcome not in ("ok", "truncated"):
        return {}
    values: dict[str, Value] = {"retrieval_told": completion.retrieved is not None}
    if completion.retrieved is not None:
        values["retrieval_recall"] = _recall(case, completion.retrieved[: case.k])
        values |= _shares("retrieved", completion.retrieved)
    if completion.citations:
        values["cited_supports"] = _shares("cited", completion.citations)["cited_supports"]
    return values


def _recall(case: Case, passages: Sequence[Retrieved]) -> float:
    """Return the share of the answer's parts that a passage supports."""
    parts = {passage.part for passage in passages if passage.stance == "supports"}
    if len(case.answer) == 1 or None in parts:
        return float(bool(parts))
    return len(parts) / len(case.answer)


def _shares(prefix: str, passages: Sequence[Retrieved]) -> dict[str, Value]:
    """Return the share of each relevance label, or nothing if there are no passages."""
    counts: Counter[str] = Counter(passage.stance or "unknown" for passage in passages)
    return {f"{prefix}_{label}": counts[label] / len(passages) for label in _LABELS} if passages else {}

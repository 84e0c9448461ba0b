"""Score the passages that a RAG system retrieved for an end-to-end case, independently of the system's answer.

These values do not depend on the scorer. If a response lists no passages, only `retrieval_told` is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ragbed.schema import Case, Completion, Retrieved
from ragbed.scoring.value import Value

_LABELS = ("supports", "distracts", "contradicts", "unknown")


def score_retrieval(case: Case, completion: Completion) -> dict[str, Value]:
    """Return the retrieval scores by name, or an empty dict for cases that provide documents.

    If a system returns only the passages in its prompt, these count as retrieved.
    """
    if case.corpus is None or case.testbed == "search" or completion.outcome not in ("ok", "truncated"):
        return {}
    retrieved = completion.contexts if completion.retrieved is None else completion.retrieved
    values: dict[str, Value] = {"retrieval_told": retrieved is not None}
    if retrieved is not None:
        values |= _shares("retrieved", retrieved)
        if case.relevant:
            ranks = [rank for rank, passage in enumerate(retrieved, 1) if passage.stance == "supports"]
            values["retrieval_recall"] = supported_share(case, parts_of(retrieved))
            values["reciprocal_rank"] = 1 / ranks[0] if ranks else 0.0
    if completion.citations:
        values["cited_supports"] = _shares("cited", completion.citations)["cited_supports"]
    return values


def parts_of(passages: Iterable[Retrieved]) -> set[int | None]:
    """Return the parts of the answer that the passages support; None stands for the complete answer."""
    return {passage.part for passage in passages if passage.stance == "supports"}


def supported_share(case: Case, parts: Collection[int | None]) -> float:
    """Return the share of the answer's parts that are among the given parts."""
    return 1.0 if None in parts else min(1.0, len(parts) / (case.parts or len(case.answer)))


def _shares(prefix: str, passages: Sequence[Retrieved]) -> dict[str, Value]:
    """Return the share of passages with each relevance label, or an empty dict if there are no passages."""
    counts: Counter[str] = Counter(passage.stance or "unknown" for passage in passages)
    return {f"{prefix}_{label}": counts[label] / len(passages) for label in _LABELS} if passages else {}

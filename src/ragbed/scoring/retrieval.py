"""Score the passages that a RAG system retrieved for an end-to-end case, independently of the system's answer.

These values do not depend on the scorer. If a response does not list its passages, only `retrieval_told` is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import log2

from ragbed.schema import Case, Completion, Retrieved
from ragbed.scoring.value import Value

RANK_SCORES = ("ndcg", "reciprocal_rank", "recall_at_k", "precision_at_k")
_LABELS = ("supports", "distracts", "contradicts", "unknown")


def score_retrieval(case: Case, completion: Completion) -> dict[str, Value]:
    """Return the retrieval scores by name, or an empty dict for cases that provide documents."""
    if case.corpus is None or case.testbed == "search" or completion.outcome not in ("ok", "truncated"):
        return {}
    values: dict[str, Value] = {"retrieval_told": completion.retrieved is not None}
    if completion.retrieved is not None:
        values["retrieval_recall"] = supported_share(case, parts_of(completion.retrieved[: case.k]))
        values |= _shares("retrieved", completion.retrieved) | _rank_scores(case, completion.retrieved)
    if completion.citations:
        values["cited_supports"] = _shares("cited", completion.citations)["cited_supports"]
    return values


def parts_of(passages: Iterable[Retrieved]) -> set[int | None]:
    """Return the parts of the answer that the passages support; None stands for the complete answer."""
    return {passage.part for passage in passages if passage.stance == "supports"}


def supported_share(case: Case, parts: Collection[int | None]) -> float:
    """Return the share of the answer's parts that are among the given parts."""
    return 1.0 if None in parts else min(1.0, len(parts) / (case.parts or len(case.answer)))


def _rank_scores(case: Case, passages: Sequence[Retrieved]) -> dict[str, Value]:
    """Return nDCG, reciprocal rank, recall and precision at k, or an empty dict if the case has no relevant passages.

    A passage is relevant if it supports the answer; if it is listed twice, only the first occurrence counts.
    """
    if not case.relevant:
        return {}
    supporting = [passage.id if passage.stance == "supports" else None for passage in passages]
    hits = [name is not None and name not in supporting[:rank] for rank, name in enumerate(supporting)][: case.k]
    relevant = max(case.relevant, sum(hits))  # passages from other items can also support the answer
    gains = [1 / log2(rank + 2) for rank in range(case.k)]
    return {
        "ndcg": sum(gain for gain, hit in zip(gains, hits, strict=False) if hit) / sum(gains[:relevant]),
        "reciprocal_rank": 1 / (hits.index(True) + 1) if True in hits else 0.0,
        "recall_at_k": sum(hits) / relevant,
        "precision_at_k": sum(hits) / case.k,
    }


def _shares(prefix: str, passages: Sequence[Retrieved]) -> dict[str, Value]:
    """Return the share of passages with each relevance label, or an empty dict if there are no passages."""
    counts: Counter[str] = Counter(passage.stance or "unknown" for passage in passages)
    return {f"{prefix}_{label}": counts[label] / len(passages) for label in _LABELS} if passages else {}

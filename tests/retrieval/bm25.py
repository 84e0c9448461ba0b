"""A direct implementation of BM25 (Robertson and Zaragoza, 2009), with which tests and benchmarks compare others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from ragbed.retrieval.passage_index import LENGTH_SHARE, SATURATION
from ragbed.text import to_terms


def bm25(question: str, passages: Sequence[str]) -> list[float]:
    """Return the BM25 score of each passage; document frequencies are computed over the given passages."""
    counts = [Counter(to_terms(passage)) for passage in passages]
    lengths = [found.total() for found in counts]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
    frequency = Counter(term for found in counts for term in found)
    weights = {
        term: log(1 + (len(passages) - frequency[term] + 0.5) / (frequency[term] + 0.5))
        for term in dict.fromkeys(to_terms(question))
        if term in frequency
    }

    def score(found: Counter[str], length: int) -> float:
        damp = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean)
        shared = ((weight, found[term]) for term, weight in weights.items() if term in found)
        return sum(weight * times * (SATURATION + 1) / (times + damp) for weight, times in shared)

    return [score(found, length) for found, length in zip(counts, lengths, strict=True)]

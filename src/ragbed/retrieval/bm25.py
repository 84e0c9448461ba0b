"""Rank passages by the words they share with a question, using BM25 (Robertson and Zaragoza, 2009).

If a question has hundreds of passages, the slow encoder needs to encode only those that BM25 selects. BM25 does not
consider meaning, so if the question and a passage are in different languages, it matches only names and numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from ragbed.text import to_terms

# The usual values of BM25's parameters k1 (saturation) and b (length).
SATURATION = 1.2
LENGTH_SHARE = 0.75


def shortlist(question: str, passages: Sequence[str], keep: int) -> list[int]:
    """Return the indexes of the `keep` best passages, best first; ties go to the earlier passage."""
    scores = bm25(question, passages)
    return sorted(range(len(passages)), key=lambda at: (-scores[at], at))[:keep]


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

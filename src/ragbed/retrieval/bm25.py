"""Which passages share words with a question: BM25 (Robertson and Zaragoza, 2009), for a quick first choice.

An encoder reads some texts a second; where a question has hundreds of passages, it need read only those that
BM25 keeps. It knows words and no meanings: across languages it finds nothing but names and numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from ragbed.text import to_terms

SATURATION = 1.2
"""BM25's k1, at its usual value: how soon the same word again adds no more."""

LENGTH_SHARE = 0.75
"""BM25's b, at its usual value: how much a passage's length discounts its words."""


def shortlist(question: str, passages: Sequence[str], keep: int) -> list[int]:
    """Places of the passages that share most with a question, best first; of equal ones the earlier."""
    scores = bm25(question, passages)
    return sorted(range(len(passages)), key=lambda place: (-scores[place], place))[:keep]


def bm25(question: str, passages: Sequence[str]) -> list[float]:
    """A score for each passage, by the words' rarity among these passages."""
    counts = [Counter(to_terms(passage)) for passage in passages]
    lengths = [found.total() for found in counts]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
    spread = Counter(term for found in counts for term in found)
    weights = {
        term: log(1 + (len(passages) - spread[term] + 0.5) / (spread[term] + 0.5))
        for term in dict.fromkeys(to_terms(question))
        if term in spread
    }

    def score(found: Counter[str], length: int) -> float:
        damp = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean)
        shared = ((weight, found[term]) for term, weight in weights.items() if term in found)
        return sum(weight * times * (SATURATION + 1) / (times + damp) for weight, times in shared)

    return [score(found, length) for found, length in zip(counts, lengths, strict=True)]

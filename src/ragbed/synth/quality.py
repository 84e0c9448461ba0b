"""How good generated text is, in numbers: how documents open and what gives them away."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import exp, sqrt
from zlib import crc32

from ragbed.schema import Item
from ragbed.synth.overlap import terms_of

OPENING = 5
"""Terms of an opening: words, or single Han characters."""

_FEATURES = 1 << 18
_EPOCHS, _RATE = 4, 0.5


def measure_openings(items: Iterable[Item]) -> tuple[float, str]:
    """The share of documents that open with the most frequent first terms, and these."""
    openings = Counter(" ".join(terms_of(passage.text[:200])[:OPENING]) for item in items for passage in item.passages)
    words, count = openings.most_common(1)[0]
    return count / openings.total(), words


def measure_giveaway(items: Sequence[Item]) -> float:
    """AUC of a classifier that sees documents without their questions: 0.5 knows nothing.

    Logistic regression on words, pairs of words and length, learned on one half of the items and
    tried on the other.
    """
    half = len(items) // 2
    weights = [0.0] * _FEATURES
    seen = [(features, label) for item in items[:half] for features, label in _examples(item)]
    for epoch in range(_EPOCHS):
        rate = _RATE / (1 + epoch)
        for features, label in seen:
            scale = 1 / sqrt(len(features))
            error = label - _sigmoid(sum(weights[at] for at in features) * scale)
            for at in features:
                weights[at] += rate * error * scale
    scored = [
        (sum(weights[at] for at in features) / sqrt(len(features)), label)
        for item in items[half:]
        for features, label in _examples(item)
    ]
    return rank_auc(scored)


def rank_auc(scored: Iterable[tuple[float, int]]) -> float:
    """The chance that a positive example scores above a negative one, ties counting half."""
    groups: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for score, label in scored:
        groups[score][label] += 1
    below = won = 0.0
    for score in sorted(groups):
        negatives, positives = groups[score]
        won += positives * (below + negatives / 2)
        below += negatives
    total = sum(positives for _, positives in groups.values())
    return won / (total * below)


def _examples(item: Item) -> Iterator[tuple[list[int], int]]:
    for passage in item.passages:
        terms = terms_of(passage.text)
        words = [*terms, *(f"{one} {two}" for one, two in pairwise(terms))]
        words.append(f"length {len(terms) // 10}")
        features = {crc32(word.encode()) % _FEATURES for word in words}  # hash() differs from run to run
        yield sorted(features), int(passage.stance == "supports")


def _sigmoid(value: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, value))))

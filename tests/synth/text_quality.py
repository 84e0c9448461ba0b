"""Measure generated text: openings, how far documents reveal their labels, and overlap."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import exp, sqrt
from typing import NamedTuple
from zlib import crc32

from ragbed.schema import Item
from ragbed.synth.validation import ENOUGH, grams_of, terms_of

OPENING = 5  # terms of an opening: words, or single Han characters

_FEATURES = 1 << 18
_BUCKETS = 1 << 26
_EPOCHS, _RATE = 4, 0.5


def measure_openings(items: Iterable[Item]) -> tuple[float, str]:
    """Return the share of documents that open with the most frequent first terms, and these terms."""
    openings = Counter(" ".join(terms_of(passage.text[:200])[:OPENING]) for item in items for passage in item.passages)
    words, count = openings.most_common(1)[0]
    return count / openings.total(), words


def measure_giveaway(items: Sequence[Item]) -> float:
    """Return the AUC of a classifier that sees documents without their questions; 0.5 is chance.

    The classifier is a logistic regression on words, pairs of words and length, trained on one half of the items and
    tested on the other.
    """
    half = len(items) // 2
    weights = [0.0] * _FEATURES
    seen = [(features, label) for item in items[:half] for features, label in _examples(item)]
    for epoch in range(_EPOCHS):
        rate = _RATE / (1 + epoch)
        for features, label in seen:
            scale = 1 / sqrt(len(features))
            error = label - (1 / (1 + exp(-max(-30.0, min(30.0, (sum(weights[at] for at in features) * scale))))))
            for at in features:
                weights[at] += rate * error * scale
    scored = [
        (sum(weights[at] for at in features) / sqrt(len(features)), label)
        for item in items[half:]
        for features, label in _examples(item)
    ]
    return rank_auc(scored)


def rank_auc(scored: Iterable[tuple[float, int]]) -> float:
    """Return the probability that a positive example scores above a negative one; ties count half."""
    groups: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for score, label in scored:
        groups[score][label] += 1
    below = won = 0.0
    for score in sorted(groups):
        negatives, positives = groups[score]
        won += positives * (below + negatives / 2)
        below += negatives
    return won / (sum(positives for _, positives in groups.values()) * below)


def _examples(item: Item) -> Iterator[tuple[list[int], int]]:
    for passage in item.passages:
        terms = terms_of(passage.text)
        words = [*terms, *(f"{first} {second}" for first, second in pairwise(terms))]
        words.append(f"length {len(terms) // 10}")
        features = {crc32(word.encode()) % _FEATURES for word in words}  # hash() differs from run to run
        yield sorted(features), int(passage.stance == "supports")


class OverlapReport(NamedTuple):
    """The documents of a sample that share most.

    Attributes:
        documents: How many were compared, each with each.
        pairs: Those above ENOUGH, the worst first: share and both texts.
    """

    documents: int
    pairs: tuple[tuple[float, str, str], ...]


def measure_overlap(items: Iterable[Item]) -> OverlapReport:
    """Find every pair of documents of which one contains more than ENOUGH of the other's grams.

    The result is exact, without comparing all pairs: a document can be in a pair only if more than that share of its
    grams occurs elsewhere, which is rare. Documents of a minimal pair, and a document and its edit, are not compared.
    """
    texts: list[str] = []
    origins: list[tuple[str, str]] = []
    grams: list[array[int]] = []
    counts = bytearray(_BUCKETS)
    for item in items:
        for at, passage in enumerate(item.passages):
            own = array("q", set(map(hash, grams_of(passage.text))))  # a fifth of the memory
            for gram in own:
                counts[gram % _BUCKETS] = min(counts[gram % _BUCKETS] + 1, 2)
            texts.append(passage.text)
            origins.append((item.event or item.id, f"{item.id}/{(at if passage.edit_of is None else passage.edit_of)}"))
            grams.append(own)
    suspects = [
        at for at, own in enumerate(grams) if (sum(counts[gram % _BUCKETS] > 1 for gram in own) > ENOUGH * len(own))
    ]
    index: dict[int, list[int]] = {gram: [] for at in suspects for gram in grams[at]}
    for at, own in enumerate(grams):
        for gram in own:
            if gram in index:
                index[gram].append(at)
    pairs = {}
    for at in suspects:
        for other, shared in _sharers(at, grams, index):
            if shared > ENOUGH and not _may_be_similar(origins[at], origins[other]):
                pairs[frozenset((at, other))] = (shared, texts[at], texts[other])
    return OverlapReport(len(texts), tuple(sorted(pairs.values(), reverse=True)))


def _may_be_similar(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Tell whether two documents are similar on purpose: in a minimal pair, or one is an edit of the other."""
    is_same_item = first[1].split("/")[0] == second[1].split("/")[0]
    return first[1] == second[1] if is_same_item else first[0] == second[0]


def _sharers(at: int, grams: list[array[int]], index: dict[int, list[int]]) -> Iterator[tuple[int, float]]:
    """Yield documents with the share of this one's grams that they contain, including all above ENOUGH.

    A document above that share contains at least one of this document's rarest grams, so only these are followed: the
    frequent ones lead to thousands of documents.
    """
    own = grams[at]
    rarest = sorted(own, key=lambda gram: len(index[gram]))[: int(len(own) * (1 - ENOUGH)) + 1]
    others = {other for gram in rarest for other in index[gram]} - {at}
    wanted = set(own)
    for other in others:
        yield other, len(wanted.intersection(grams[other])) / len(own)

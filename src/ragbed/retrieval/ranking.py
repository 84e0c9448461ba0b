"""Rank passages by their similarity to a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragbed.retrieval.base import Encoded, EncodedTokens, Encoder, Matrix, TokenEncoder


@dataclass(frozen=True)
class RankedPassages:
    """The passages that are most similar to a question, best first.

    Attributes:
        places: Indexes of the passages among all passages.
        scores: Cosine similarities or, for late interaction, the mean of the best cosines of the question's tokens.
        truncated: The indexes of all passages that the encoder truncated.
    """

    places: tuple[int, ...]
    scores: tuple[float, ...]
    truncated: tuple[int, ...]


def rank(question: str, passages: Sequence[str], encoder: Encoder | TokenEncoder, top: int) -> RankedPassages:
    """Return the `top` passages that are most similar to a question; ties go to the earlier passage."""
    found: Encoded | EncodedTokens
    if isinstance(encoder, TokenEncoder):
        found = encoder.encode_tokens(passages, "passage")
        scores = max_similarity(encoder.encode_tokens([question], "question").tokens[0], found.tokens)
    else:
        found = encoder.encode(passages, "passage")
        scores = found.vectors @ encoder.encode([question], "question").vectors[0]
    places = best(scores, top)
    return RankedPassages(tuple(places), tuple(float(scores[place]) for place in places), found.truncated)


def max_similarity(question: Matrix, passages: Sequence[Matrix]) -> Matrix:
    """Return the late-interaction scores of passages (Khattab and Zaharia, 2020).

    The score is the mean, over the question's tokens, of the best cosine in the passage, so it is comparable with a
    cosine.
    """
    if not passages:
        return np.zeros(0, np.float32)
    starts = np.cumsum([0, *map(len, passages[:-1])])
    similarities = question @ np.concatenate(passages).T
    means: Matrix = np.maximum.reduceat(similarities, starts, axis=1).mean(axis=0)
    return means


def best(scores: Matrix, top: int) -> list[int]:
    """Return the indexes of the highest scores in descending order; ties go to the earlier index."""
    order: list[int] = np.argsort(-scores, kind="stable")[:top].tolist()
    return order

"""Orders passages by how close an encoder finds them to a question; no files, no network, no chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragbed.retrieval.base import Encoder, Matrix, TokenEncoder


@dataclass(frozen=True)
class RankedPassages:
    """The best passages, best first."""

    places: tuple[int, ...]
    """Where each stands among the passages that were given."""
    scores: tuple[float, ...]
    """How close each is: a cosine, or for late interaction the mean of the question's tokens' best cosines."""
    cut: tuple[int, ...]
    """Passages of which the encoder read the beginning only, ranked high or not."""


def rank(question: str, passages: Sequence[str], encoder: Encoder | TokenEncoder, top: int) -> RankedPassages:
    """The passages nearest to a question; of equally near ones the earlier comes first."""
    if isinstance(encoder, TokenEncoder):
        tokens = encoder.encode_tokens(passages, "passage")
        scores, cut = max_similarity(encoder.encode_tokens([question], "question").tokens[0], tokens.tokens), tokens.cut
    else:
        found = encoder.encode(passages, "passage")
        scores, cut = found.vectors @ encoder.encode([question], "question").vectors[0], found.cut
    places = best(scores, top)
    return RankedPassages(tuple(places), tuple(float(scores[place]) for place in places), cut)


def max_similarity(question: Matrix, passages: Sequence[Matrix]) -> Matrix:
    """Late interaction (Khattab and Zaharia, 2020): each token of the question looks for its nearest in a passage.

    Their sum is divided by the number of the question's tokens, so that the score is a cosine like any other.
    """
    if not passages:
        return np.zeros(0, np.float32)
    starts = np.cumsum([0, *map(len, passages[:-1])])
    similarities = question @ np.concatenate(passages).T
    nearest: Matrix = np.maximum.reduceat(similarities, starts, axis=1)
    means: Matrix = nearest.mean(axis=0)
    return means


def best(scores: Matrix, top: int) -> list[int]:
    """Places of the highest scores, highest first; of equal ones the earlier."""
    order: list[int] = np.argsort(-scores, kind="stable")[:top].tolist()
    return order

"""The protocol for encoders, which create one vector per text.

The dot product of two vectors is the similarity of their texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]
# Many encoders encode questions differently from passages.
Role: TypeAlias = Literal["question", "passage"]


@runtime_checkable
class Encoder(Protocol):
    """An encoder that creates one vector per text."""

    name: str

    def identity(self) -> str:
        """Return the encoder's package, version and weights hash, for cache keys."""

    def encode(self, texts: Sequence[str], role: Role) -> Matrix:
        """Return one unit vector per text; batching a text with others changes its vector by at most 1e-5."""


def to_unit(vectors: Matrix) -> Matrix:
    """Scale rows to unit length; rows of zeros are unchanged."""
    lengths: Matrix = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    return vectors / lengths[:, None]


def best(scores: Matrix, top: int) -> list[int]:
    """Return the indexes of the highest scores in descending order; ties go to the earlier index."""
    places = np.arange(len(scores))
    if len(scores) > top:  # sorting a million scores would take much longer
        places = np.flatnonzero(scores >= np.partition(scores, -top)[-top])
    order: list[int] = places[np.argsort(-scores[places], kind="stable")][:top].tolist()
    return order

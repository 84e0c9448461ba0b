"""The protocols of encoders.

An `Encoder` makes one vector per text, and the product of two vectors is the similarity of the texts. A `TokenEncoder`
makes one vector per token, and a question is compared with a passage token by token (late interaction): more precise,
and larger by the number of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]
# Many encoders encode questions in another way than passages.
Role: TypeAlias = Literal["question", "passage"]


@dataclass(frozen=True)
class Encoded:
    """Vectors of length 1, one row per text, and the indexes of texts that were truncated."""

    vectors: Matrix
    truncated: tuple[int, ...] = ()


@dataclass(frozen=True)
class EncodedTokens:
    """Vectors of length 1, one matrix per text and one row per token, and the indexes of truncated texts."""

    tokens: list[Matrix]
    truncated: tuple[int, ...] = ()


@runtime_checkable
class Encoder(Protocol):
    """An encoder with one vector per text."""

    name: str

    def identity(self) -> str:
        """Return the package, version and weights hash of the encoder, for cache keys."""

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Return the vectors of any number of texts; other texts change a vector by at most 1e-5."""


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder with one vector per token."""

    name: str

    def identity(self) -> str:
        """Return the identity of the encoder beyond its name, for cache keys."""

    def encode_tokens(self, texts: Sequence[str], role: Role) -> EncodedTokens:
        """Return the token vectors of any number of texts."""


def to_unit(vectors: Matrix) -> Matrix:
    """Scale rows to length 1; a row of zeros stays."""
    lengths: Matrix = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    return vectors / lengths[:, None]

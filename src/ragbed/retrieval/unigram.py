"""Tokenize text with a unigram vocabulary, as SentencePiece does (Kudo, 2018).

The most probable segmentation of a text is chosen (Viterbi algorithm). A character that does not occur in any piece
becomes the unknown token. See `e5` for why the tokenizers package is not used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache

# The word-boundary marker, which can occur only as the first character of a piece.
SPACE = "\u2581"
# Difference between the log-probabilities of the rarest piece and of an unknown character, as in SentencePiece.
UNKNOWN_PENALTY = 10.0
# Maximum number of words in the cache. Words repeat often, but web pages also contain many rare words.
CACHED_WORDS = 65536
# Maximum length of a cached word. Longer sequences without spaces (Chinese sentences) rarely repeat.
CACHED_LENGTH = 24

_SPACES = re.compile(" {2,}")


class Unigram:
    """A vocabulary of pieces with their log-probabilities.

    Args:
        pieces: The log-probability of each piece; a piece's position in the mapping is its id.
        unknown: The id of the unknown token.
        fold: Replacements for code points (compatibility forms, control characters).
        special: Ids of special tokens, which are never produced from text.
    """

    def __init__(
        self, pieces: Mapping[str, float], unknown: int, fold: Mapping[int, str], special: Collection[int]
    ) -> None:
        self._fold, self._unknown = fold, unknown
        self._ids = {piece: at for at, piece in enumerate(pieces) if at not in special}
        self._scores = list(pieces.values())
        self._unknown_score = min(pieces.values()) - UNKNOWN_PENALTY
        self._longest: dict[str, int] = {}  # maximum length of the pieces, keyed by their first two characters
        for piece in self._ids:
            self._longest[piece[:2]] = max(self._longest.get(piece[:2], 0), len(piece))
        self._encode_cached = lru_cache(CACHED_WORDS)(self._encode_word)

    def encode(self, text: str) -> list[int]:
        """Return the token IDs of a text."""
        folded = _SPACES.sub(" ", text.translate(self._fold))
        tokens: list[int] = []
        # No piece contains the word-boundary marker after its first character, so words can be tokenized separately.
        for word in folded.removeprefix(" ").split(" "):
            marked = SPACE + word
            tokens += self._encode_cached(marked) if len(marked) <= CACHED_LENGTH else self._encode_word(marked)
        return tokens

    def _encode_word(self, word: str) -> tuple[int, ...]:
        find, scores, longest = self._ids.get, self._scores, self._longest.get
        best = [0.0] + [-float("inf")] * len(word)
        came_from: list[tuple[int, int]] = [(0, 0)] * (len(word) + 1)
        for start, first in enumerate(word):
            so_far, end = best[start], start + 1
            token = find(first, -1)
            score = so_far + (self._unknown_score if token < 0 else scores[token])
            if score > best[end]:
                best[end], came_from[end] = score, (start, self._unknown if token < 0 else token)
            for end in range(start + 2, min(start + longest(word[start : start + 2], 0), len(word)) + 1):
                token = find(word[start:end], -1)
                if token >= 0 and so_far + scores[token] > best[end]:
                    best[end], came_from[end] = so_far + scores[token], (start, token)
        tokens: list[int] = []
        at = len(word)
        while at:
            at, token = came_from[at]
            tokens.append(token)
        return tuple(reversed(tokens))

"""Search a fixed list of passages by keywords (BM25): Latin words, and pairs of adjacent Chinese characters.

Pairs need no dictionary and find every word with two or more characters. The same passages and query always give the
same result. SQLite's FTS5 is not used: its queries take seconds with a million passages (`python -m benches search`).
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, islice
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragbed.retrieval.base import best

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The usual values for the BM25 parameters k1 (term saturation) and b (length normalisation).
SATURATION = 1.2
LENGTH_SHARE = 0.75
_CHUNK = 50_000  # number of passages that are sorted together, to limit the memory needed to build the index
_MAX_TERMS = 64  # maximum number of query words to use
# Maximum total length of the posting lists for a query. The query words are used from the rarest to the most common,
# because common words have long lists but little weight. With up to about 10,000 passages, all words are used.
_MAX_POSTINGS = 100_000
_HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")


class _Postings(NamedTuple):
    """The posting lists for a chunk of passages: for each word, the passages that contain it, and its count in each."""

    terms: NDArray[np.int32]
    starts: NDArray[np.int64]
    passages: NDArray[np.int32]
    counts: NDArray[np.uint8]


class LexicalIndex:
    """An index that ranks passages by BM25.

    Args:
        texts: The passages, of which the index stores only the words.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        self._chunks: list[_Postings] = []
        lengths, frequency, remaining = array("f"), Counter[int](), iter(texts)
        while chunk := list(islice(remaining, _CHUNK)):
            postings = self._sort(chunk, len(lengths), lengths)
            self._chunks.append(postings)
            frequency.update(dict(zip(postings.terms.tolist(), np.diff(postings.starts).tolist(), strict=True)))
        self._frequency = frequency
        of = np.array(lengths, np.float32)
        mean = float(of.mean()) if len(of) and of.any() else 1.0
        self._damp = (SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * of / mean)).astype(np.float32)

    def _sort(self, texts: list[str], first: int, lengths: array[float]) -> _Postings:
        terms, passages, counts = array("i"), array("i"), array("B")
        numbers = self._numbers
        for place, text in enumerate(texts, first):
            found = Counter(words_of(text))
            lengths.append(found.total())
            terms.extend([numbers.setdefault(word, len(numbers)) for word in found])
            passages.extend([place] * len(found))
            counts.extend([min(times, 255) for times in found.values()])
        columns = np.array(terms, np.int32), np.array(passages, np.int32), np.array(counts, np.uint8)
        order = np.argsort(columns[0], kind="stable")
        used, starts = np.unique(columns[0][order], return_index=True)
        return _Postings(used, np.append(starts, len(order)), columns[1][order], columns[2][order])

    def search(self, query: str, k: int) -> list[int]:
        """Return the indexes of the `k` best passages that share a word with the query, best first."""
        return best_places(self.scores(query), k)

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the score of each passage; 0 if it shares no word with the query."""
        total, scores = len(self._damp), np.zeros(len(self._damp), np.float32)
        for term in self._choose_terms(query):
            weight = log(1 + (total - self._frequency[term] + 0.5) / (self._frequency[term] + 0.5))
            for chunk in self._chunks:
                at = int(np.searchsorted(chunk.terms, term))
                if at < len(chunk.terms) and chunk.terms[at] == term:
                    part = slice(int(chunk.starts[at]), int(chunk.starts[at + 1]))
                    passages, times = chunk.passages[part], chunk.counts[part].astype(np.float32)
                    scores[passages] += weight * times * (SATURATION + 1) / (times + self._damp[passages])
        return scores

    def _choose_terms(self, query: str) -> list[int]:
        """Return the query words to search for, rarest first."""
        words = list(dict.fromkeys(words_of(query)))[:_MAX_TERMS]
        known = [number for word in words if (number := self._numbers.get(word)) is not None]
        known.sort(key=lambda term: (self._frequency[term], term))
        totals = accumulate(self._frequency[term] for term in known)
        return [
            term
            for place, (term, total) in enumerate(zip(known, totals, strict=True))
            if not place or total <= _MAX_POSTINGS
        ]


def best_places(scores: NDArray[np.float32], k: int) -> list[int]:
    """Return the indexes of the `k` highest positive scores, best first; ties go to the earlier index."""
    places = np.flatnonzero(scores)
    found: list[int] = places[best(scores[places], k)].tolist()
    return found


def words_of(text: str) -> list[str]:
    """Return a text's words in order, in lower case."""
    words: list[str] = []
    for run in _RUN.findall(text.lower()):
        is_pairs = _IS_HAN.match(run) and len(run) > 1
        words += [run[at : at + 2] for at in range(len(run) - 1)] if is_pairs else [run]
    return words

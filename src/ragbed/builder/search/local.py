"""Search the build's own documents without an API key or network access. This is the default engine.

Passages are ranked by BM25 and by cosine similarity. The rankings are merged by reciprocal rank fusion
(Cormack et al., SIGIR 2009), which needs no weights. A document's score is that of its best passage.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING

from ragbed.builder.search.base import Query, SearchContext, SearchEngine, SearchResult, make_hits
from ragbed.errors import UsageError
from ragbed.retrieval.local_index import LocalIndex
from ragbed.retrieval.near_duplicates import Distinct
from ragbed.retrieval.terms import words_of
from ragbed.schema import Hit, Lang

if TYPE_CHECKING:
    import numpy as np

_DEPTH = 200  # number of passages per ranking: twenty per hit, because a document may have many passages
_CANDIDATES = 1_000  # number of best passages per ranking from which those in the query's period are taken
_RRF = 60  # the constant k in reciprocal rank fusion (Cormack et al., 2009)
_MAX_TERMS = 64  # maximum number of query words to use
_BLOCK = 4_096  # number of vectors to read and multiply at a time, to avoid a second copy of all vectors in memory
_SNIPPET = 160  # maximum length of a snippet in characters
_OF = "FROM passages JOIN documents ON documents.id = document"


class _LocalSearchEngine:
    name = "local"

    def __init__(self, index: LocalIndex) -> None:
        self._index = index
        self._vectors: dict[Lang, tuple[array[int], list[np.ndarray]]] = {}

    async def search(self, query: Query) -> list[Hit]:
        terms = list(dict.fromkeys(words_of(query.text)))[:_MAX_TERMS]
        seen, texts = set[str](), Distinct()
        first, copies = list[SearchResult](), list[SearchResult]()
        for passage in _merge(self._by_words(query, terms), self._by_vectors(query)):
            ((url, title, date, text),) = self._index.rows(
                f"SELECT url, title, date, text {_OF} WHERE passages.id = ?", passage
            )
            if url in seen:
                continue
            seen.add(url)
            # Near-duplicates come last. Otherwise, copies of one press release could take all ten positions, and a pool
            # would keep only one of them.
            (first if texts.keep(text) else copies).append(SearchResult(url, title, _snippet(text, terms), date))
            if len(first) >= query.count:
                break
        return make_hits(query, self.name, [*first, *copies][: query.count])

    def _by_words(self, query: Query, terms: list[str]) -> list[int]:
        """Return the passages ranked by BM25, best first."""
        if not (terms := self._selective(terms)):
            return []
        match = " OR ".join(f'"{term}"' for term in terms)
        best = self._index.rows(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?", match, _CANDIDATES
        )
        return self._allowed(query, [number for (number,) in best])

    def _selective(self, terms: list[str]) -> list[str]:
        """Return the words that occur in at most half of the passages. Other words have no weight in BM25.

        If there are no such words, as with a few documents about one subject, return all words.
        """
        ((passages,),) = self._index.rows("SELECT count(*) FROM passages")
        counts = {term: self._index.rows("SELECT doc FROM counts WHERE term = ?", term) for term in terms}
        return [term for term in terms if 0 < 2 * sum(count for (count,) in counts[term]) <= passages] or terms

    def _by_vectors(self, query: Query) -> list[int]:
        """Return the passages ranked by cosine similarity, best first, or none if there is no encoder."""
        packed = self._index.encode_query(query.text)
        if packed is None:
            return []
        import numpy as np  # noqa: PLC0415 - slow to import

        vector = np.frombuffer(packed, np.float16).astype(np.float32)
        numbers, blocks = self._load(query.lang)
        # `einsum` uses one thread; a matrix product would use several threads, which busy-wait for the next product.
        products = (np.einsum("ij,j->i", block.astype(np.float32), vector) for block in blocks)
        scores = np.concatenate([np.zeros(0, np.float32), *products])
        return self._allowed(query, [numbers[at] for at in np.argsort(-scores, kind="stable")[:_CANDIDATES]])

    def _allowed(self, query: Query, passages: list[int]) -> list[int]:
        """Return the passages in the query's language and period, in the given order."""
        marks = ", ".join("?" * len(passages))
        rows = self._index.rows(
            f"SELECT passages.id {_OF} WHERE passages.id IN ({marks}) AND lang = ? "
            "AND (date IS NULL OR date BETWEEN ? AND ?)",
            *(*passages, query.lang, query.after or "", query.before or "9999"),
        )
        kept = {number for (number,) in rows}
        return [number for number in passages if number in kept][:_DEPTH]

    def _load(self, lang: Lang) -> tuple[array[int], list[np.ndarray]]:
        """Return the IDs and vectors of all passages in a language, reading them from the file only once."""
        import numpy as np  # noqa: PLC0415 - slow to import

        if lang not in self._vectors:
            numbers, blocks = self._vectors[lang] = array("q"), list[np.ndarray]()
            while rows := self._index.rows(
                f"SELECT passages.id, vector {_OF} WHERE lang = ? AND passages.id > ? "
                f"ORDER BY passages.id LIMIT {_BLOCK}",
                *(lang, numbers[-1] if numbers else 0),
            ):
                numbers.extend(number for number, _ in rows)
                blocks.append(np.frombuffer(b"".join(vector for _, vector in rows), np.float16).reshape(len(rows), -1))
        return self._vectors[lang]


def _merge(*orders: list[int]) -> list[int]:
    """Merge rankings by reciprocal rank fusion."""
    scores: dict[int, float] = defaultdict(float)
    for order in orders:
        for rank, number in enumerate(order, 1):
            scores[number] += 1 / (_RRF + rank)
    return sorted(scores, key=lambda number: (-scores[number], number))


def _snippet(text: str, terms: list[str]) -> str:
    folded = text.lower()
    found = [place for term in terms if (place := folded.find(term)) >= 0]
    start = max(0, min(found, default=0) - _SNIPPET // 4)
    cut = text[start : start + _SNIPPET].strip()
    return f"{'…' if start else ''}{cut}{'…' if start + _SNIPPET < len(text) else ''}".replace("\n", " ")


def open_local(setting: SearchContext) -> SearchEngine:
    """Open an engine that searches the context's index."""
    if setting.index is None:
        raise UsageError("The `local` search engine requires a document index; set `index` in the search context.")
    return _LocalSearchEngine(setting.index)

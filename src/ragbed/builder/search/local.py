"""Search the build's own documents by BM25, without an API key or network access. This is the default engine.

A document's rank is that of its best passage.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator

import msgspec

from ragbed.builder.search.base import Query, SearchContext, SearchEngine, SearchResult, make_hits
from ragbed.errors import UsageError
from ragbed.retrieval.near_duplicates import Distinct
from ragbed.retrieval.passage_index import LexicalIndex
from ragbed.retrieval.terms import words_of
from ragbed.schema import Article, Hit, Lang

_DEPTH = 1_000  # number of best passages from which the documents in the query's period are taken
_SNIPPET = 160  # maximum length of a snippet in characters


class _Documents:
    """The documents in one language, without their texts, and the index of their passages."""

    def __init__(self, articles: Iterable[tuple[Article, list[str]]]) -> None:
        self._articles, self._owners = list[Article](), array("I")
        self._index = LexicalIndex(self._add(articles))

    def _add(self, articles: Iterable[tuple[Article, list[str]]]) -> Iterator[str]:
        for number, (article, passages) in enumerate(articles):
            self._articles.append(msgspec.structs.replace(article, text=""))
            self._owners.extend([number] * len(passages))
            yield from passages

    def search(self, query: Query) -> Iterator[tuple[Article, str]]:
        """Yield the documents of the query's period with their best passages, best first."""
        seen = set[int]()
        for number in self._index.search(query.text, _DEPTH):
            owner = self._owners[number]
            article = self._articles[owner]
            in_period = article.date is None or (query.after or "") <= article.date <= (query.before or "9999")
            if owner not in seen and in_period:
                seen.add(owner)
                yield article, self._index.text(number)


class _LocalSearchEngine:
    name = "local"

    def __init__(self, articles: Callable[[], Iterable[tuple[Article, list[str]]]]) -> None:
        self._articles = articles
        self._documents: dict[Lang, _Documents] = {}

    async def search(self, query: Query) -> list[Hit]:
        if query.lang not in self._documents:
            own = (found for found in self._articles() if found[0].lang == query.lang)
            self._documents[query.lang] = _Documents(own)
        texts, terms = Distinct(), words_of(query.text)
        first, copies = list[SearchResult](), list[SearchResult]()
        for article, text in self._documents[query.lang].search(query):
            # Near-duplicates come last. Otherwise, copies of one press release could take all ten positions, and a pool
            # would keep only one of them.
            result = SearchResult(article.url, article.title, _snippet(text, terms), article.date)
            (first if texts.keep(text) else copies).append(result)
            if len(first) >= query.count:
                break
        return make_hits(query, self.name, [*first, *copies][: query.count])


def _snippet(text: str, terms: list[str]) -> str:
    folded = text.lower()
    found = [place for term in terms if (place := folded.find(term)) >= 0]
    start = max(0, min(found, default=0) - _SNIPPET // 4)
    cut = text[start : start + _SNIPPET].strip()
    return f"{'…' if start else ''}{cut}{'…' if start + _SNIPPET < len(text) else ''}".replace("\n", " ")


def open_local(setting: SearchContext) -> SearchEngine:
    """Open an engine that searches the context's documents."""
    if setting.articles is None:
        raise UsageError("The `local` search engine requires documents; set `articles` in the search context.")
    return _LocalSearchEngine(setting.articles)

"""Search the build's own documents without an API key or network access. This is the default engine.

Passages are ranked by BM25. A document's rank is that of its best passage.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ragbed.builder.passages import split_article
from ragbed.builder.search.base import Query, SearchContext, SearchEngine, SearchResult, make_hits
from ragbed.errors import UsageError
from ragbed.retrieval.near_duplicates import Distinct
from ragbed.retrieval.passage_index import LexicalIndex
from ragbed.schema import Article, Hit

_CANDIDATES = 1_000  # number of passages from which the documents in the query's language are taken
_SNIPPET = 160  # maximum length of a snippet in characters


class _LocalSearchEngine:
    name = "local"

    def __init__(self, articles: Iterable[Article]) -> None:
        self._passages: list[tuple[Article, str]] = []  # each with its article, whose text is left out
        for article in articles:
            about = replace(article, text="")
            self._passages += [(about, chunk.text) for chunk in split_article(article)]
        self._index = LexicalIndex(text for _, text in self._passages)

    async def search(self, query: Query) -> list[Hit]:
        seen, texts = set[str](), Distinct()
        first, copies = list[SearchResult](), list[SearchResult]()
        for place in self._index.search(query.text, _CANDIDATES):
            found, text = self._passages[place]
            if found.lang != query.lang or found.url in seen:
                continue
            seen.add(found.url)
            # Near-duplicates come last. Otherwise, copies of one press release could take all ten positions, and a pool
            # would keep only one of them.
            (first if texts.keep(text) else copies).append(
                SearchResult(found.url, found.title, text[:_SNIPPET].replace("\n", " "), found.date)
            )
            if len(first) >= query.count:
                break
        return make_hits(query, self.name, [*first, *copies])


def open_local(setting: SearchContext) -> SearchEngine:
    """Open an engine that searches the context's articles."""
    if setting.articles is None:
        raise UsageError("The `local` search engine requires documents; set `articles` in the search context.")
    return _LocalSearchEngine(setting.articles)

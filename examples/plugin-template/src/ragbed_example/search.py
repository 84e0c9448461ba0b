"""`[search] engine = "bookmarks"`: search the URLs in a local file, set with the variable `BOOKMARKS`."""

from __future__ import annotations

from pathlib import Path

from ragbed.builder.search import Query, SearchContext
from ragbed.builder.search.base import SearchResult, make_hits
from ragbed.errors import UsageError
from ragbed.schema import Hit


def open_engine(context: SearchContext) -> Bookmarks:
    """Return the search engine; the entry point names this function."""
    file = Path(context.environ.get("BOOKMARKS", "bookmarks.tsv"))
    if not file.is_file():
        raise UsageError(
            f"engine bookmarks: {file} does not exist. Create it with a URL, a tab and a title on each line."
        )
    lines = (line.partition("\t") for line in file.read_text("utf-8").splitlines() if line.strip())
    return Bookmarks([SearchResult(url, title, title) for url, _, title in lines])


class Bookmarks:
    """Implements the protocol `ragbed.builder.search.Engine`."""

    name = "bookmarks"

    def __init__(self, results: list[SearchResult]) -> None:
        self._results = results

    async def search(self, query: Query) -> list[Hit]:
        """Return the pages whose titles share most words with the query; `make_hits` filters and ranks them."""
        wanted = set(query.text.lower().split())
        shared = {result: len(wanted & set(result.title.lower().split())) for result in self._results}
        found = sorted((result for result in self._results if shared[result]), key=lambda result: -shared[result])
        return make_hits(query, self.name, found)

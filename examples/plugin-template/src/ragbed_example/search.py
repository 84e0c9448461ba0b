"""`[search] engine = "bookmarks"`: finds among the addresses in a file of your own, which `BOOKMARKS` names."""

from __future__ import annotations

from pathlib import Path

from ragbed.builder.search import Query, SearchContext
from ragbed.builder.search.base import SearchResult, make_hits
from ragbed.errors import UsageError
from ragbed.schema import Hit


def open_engine(setting: SearchContext) -> Bookmarks:
    """What the entry point names: from what the recipe and the environment say to an engine."""
    file = Path(setting.environ.get("BOOKMARKS", "bookmarks.tsv"))
    if not file.is_file():
        raise UsageError(f"engine bookmarks: there is no {file}; write an address, a tab and a title a line.")
    lines = (line.partition("\t") for line in file.read_text("utf-8").splitlines() if line.strip())
    return Bookmarks([SearchResult(url, title, title) for url, _, title in lines])


class Bookmarks:
    """What ragbed asks of a search engine (`ragbed.builder.search.Engine`)."""

    name = "bookmarks"

    def __init__(self, results: list[SearchResult]) -> None:
        self._results = results

    async def search(self, query: Query) -> list[Hit]:
        """Those whose title shares most words with the query; `make_hits` sees to dates, domains and ranks."""
        wanted = set(query.text.lower().split())
        shared = {one: len(wanted & set(one.title.lower().split())) for one in self._results}
        found = sorted((one for one in self._results if shared[one]), key=lambda one: -shared[one])
        return make_hits(query, self.name, found)

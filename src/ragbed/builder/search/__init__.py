"""Open search engines by name.

To add an engine, write a function that opens it, and add one line to ENGINES. For an engine with an HTTP API, the
function returns a `SearchService`, which describes the API; caching and pacing are shared.
Other packages register their engines in the entry point group `ragbed.search` (docs/reference/plugins.md).
"""

from __future__ import annotations

from collections.abc import Callable

from ragbed import plugins
from ragbed.builder.search.base import Query, SearchContext, SearchEngine, SearchFailed
from ragbed.builder.search.engines import HttpSearchEngine, SearchService, open_brave, open_searxng, open_serper
from ragbed.builder.search.local import open_local

ENGINES: dict[str, Callable[[SearchContext], SearchEngine | SearchService]] = {
    "local": open_local,
    "searxng": open_searxng,
    "brave": open_brave,
    "serper": open_serper,
}

__all__ = ["ENGINES", "Query", "SearchContext", "SearchEngine", "SearchFailed", "find_engine", "open_engine"]


def find_engine(name: str) -> Callable[[SearchContext], SearchEngine | SearchService]:
    """Return the function that opens the engine with the given name."""
    return plugins.find_part(plugins.SEARCH, name, ENGINES)


def open_engine(name: str, setting: SearchContext) -> SearchEngine:
    """Open the engine with the given name."""
    made = find_engine(name)(setting)
    return HttpSearchEngine(made, setting.keep) if isinstance(made, SearchService) else made

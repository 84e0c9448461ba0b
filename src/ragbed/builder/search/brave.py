"""Brave Search: https://api-dashboard.search.brave.com/api-reference/web/search/get."""

from __future__ import annotations

from msgspec import Struct, json

from ragbed.builder.search.base import Query, SearchContext, SearchResult, read_day, with_sites
from ragbed.builder.search.served import SearchRequest, SearchService

_LANGUAGES = {"en": "en", "zh": "zh-hans"}
_COUNT = 20


class _Result(Struct):
    url: str
    title: str = ""
    description: str = ""
    page_age: str | None = None


class _Web(Struct):
    results: list[_Result] = []


class _Answer(Struct):
    type: str
    web: _Web | None = None  # missing if nothing was found


def open_brave(setting: SearchContext) -> SearchService:
    """Open Brave Search with the key in `BRAVE_API_KEY`."""
    url = f"{setting.base_url('BRAVE_BASE_URL', 'https://api.search.brave.com')}/res/v1/web/search"
    headers = {"X-Subscription-Token": setting.key("BRAVE_API_KEY")}

    def ask(query: Query, page: int) -> SearchRequest:
        params: dict[str, str | int] = {
            "q": with_sites(query),
            "search_lang": _LANGUAGES[query.lang],
            "country": "ALL",
            "count": _COUNT,
            "offset": page,
            "result_filter": "web",
            "text_decorations": "false",
        }
        if query.after or query.before:
            params["freshness"] = f"{query.after or '1990-01-01'}to{query.before or setting.today.isoformat()}"
        return SearchRequest("GET", url, headers, params)

    return SearchService("brave", ask, _read, page_size=_COUNT, pages=10, longest=400, interval_s=1.0)


def _read(body: bytes) -> list[SearchResult]:
    web = json.decode(body, type=_Answer).web
    return [
        SearchResult(result.url, result.title, result.description, read_day(result.page_age))
        for result in (web or _Web()).results
    ]

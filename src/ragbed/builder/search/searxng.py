"""SearXNG, a self-hosted metasearch engine; enable its JSON output: https://docs.searxng.org/dev/search_api.

It can restrict searches only to the last day, month or year; results with other dates are filtered out afterwards.
"""

from __future__ import annotations

from datetime import date

from msgspec import Struct, json

from ragbed.builder.search.base import Query, SearchContext, SearchFailed, SearchResult, read_day, with_sites
from ragbed.builder.search.served import SearchRequest, SearchService
from ragbed.errors import UsageError

_LANGUAGES = {"en": "en", "zh": "zh-CN"}
_RANGES = {"day": 1, "month": 28, "year": 365}  # minimum number of days in each range
_COUNT = 10  # approximate number of results per page; the exact number depends on the configured engines


class _Result(Struct):
    url: str
    title: str = ""
    content: str | None = None
    publishedDate: str | None = None  # noqa: N815 - SearXNG's name


class _Answer(Struct):
    results: list[_Result]
    unresponsive_engines: list[object] = []


def open_searxng(setting: SearchContext) -> SearchService:
    """Open the SearXNG instance at `SEARXNG_BASE_URL`."""
    base = setting.base_url("SEARXNG_BASE_URL", "")
    if not base and setting.quota != 0:
        raise UsageError(
            "SEARXNG_BASE_URL is not set; set it to the URL of your SearXNG instance, e.g. http://localhost:8080."
        )

    def ask(query: Query, page: int) -> SearchRequest:
        params: dict[str, str | int] = {
            "q": with_sites(query),
            "format": "json",
            "language": _LANGUAGES[query.lang],
            "pageno": page + 1,
        }
        if query.after and (span := _range_for(query.after, setting.today)):
            params["time_range"] = span
        return SearchRequest("GET", f"{base}/search", params=params)

    return SearchService("searxng", ask, _read, page_size=_COUNT, pages=5, longest=2048, interval_s=1.0)


def _range_for(after: str, today: date) -> str | None:
    """Return the shortest time range that includes a date, or None if every range is too short."""
    days = (today - date.fromisoformat(after)).days
    return next((name for name, reach in _RANGES.items() if days <= reach), None)


def _read(body: bytes) -> list[SearchResult]:
    answer = json.decode(body, type=_Answer)
    if not answer.results and answer.unresponsive_engines:
        raise SearchFailed("server", "SearXNG received no response from any of its search engines", passing=True)
    return [
        SearchResult(result.url, result.title, result.content or "", read_day(result.publishedDate))
        for result in answer.results
    ]

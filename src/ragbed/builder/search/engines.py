"""The search engines with an HTTP API: Brave, SearXNG and Serper. Each function describes one API.

They were tested only against servers that follow the engines' documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from msgspec import Struct, field, json

from ragbed.builder.search.base import Query, SearchContext, SearchFailed, SearchResult, read_day
from ragbed.builder.search.served import SearchRequest, SearchService
from ragbed.errors import UsageError


class _Result(Struct, kw_only=True):
    url: str
    title: str = ""
    snippet: str | None = None
    date: str | None = None


class _BraveResult(_Result, kw_only=True):
    snippet: str | None = field(default=None, name="description")
    date: str | None = field(default=None, name="page_age")


class _BraveWeb(Struct, frozen=True):
    results: tuple[_BraveResult, ...] = ()


class _BraveAnswer(Struct):
    type: str
    web: _BraveWeb = _BraveWeb()  # missing if nothing was found


class _SearxngResult(_Result, kw_only=True):
    snippet: str | None = field(default=None, name="content")
    date: str | None = field(default=None, name="publishedDate")


class _SearxngAnswer(Struct):
    results: list[_SearxngResult]
    unresponsive_engines: list[object] = []


class _SerperResult(_Result, kw_only=True):
    url: str = field(name="link")


class _SerperAnswer(Struct):
    organic: list[_SerperResult]


def open_brave(setting: SearchContext) -> SearchService:
    """Open Brave Search: https://api-dashboard.search.brave.com/api-reference/web/search/get."""
    url = f"{setting.base_url('BRAVE_BASE_URL', 'https://api.search.brave.com')}/res/v1/web/search"
    headers = {"X-Subscription-Token": setting.key("BRAVE_API_KEY")}

    def ask(query: Query, page: int) -> SearchRequest:
        params: dict[str, str | int] = {
            "q": query.text,
            "search_lang": {"en": "en", "zh": "zh-hans"}[query.lang],
            "country": "ALL",
            "count": 20,
            "offset": page,
            "result_filter": "web",
            "text_decorations": "false",
        }
        if query.after or query.before:
            params["freshness"] = f"{query.after or '1990-01-01'}to{query.before or setting.today.isoformat()}"
        return SearchRequest("GET", url, headers, params)

    def read(body: bytes) -> list[SearchResult]:
        return _convert(json.decode(body, type=_BraveAnswer).web.results)

    return SearchService("brave", ask, read, page_size=20, pages=10, interval_s=1.0)


def open_searxng(setting: SearchContext) -> SearchService:
    """Open a SearXNG instance with JSON output: https://docs.searxng.org/dev/search_api.

    Its time ranges are not used, because they are relative to today; results with other dates are filtered out.
    """
    base = setting.base_url("SEARXNG_BASE_URL", "")
    if not base:
        raise UsageError(
            "SEARXNG_BASE_URL is not set; set it to the URL of your SearXNG instance, e.g. http://localhost:8080."
        )

    def ask(query: Query, page: int) -> SearchRequest:
        params: dict[str, str | int] = {
            "q": query.text,
            "format": "json",
            "language": {"en": "en", "zh": "zh-CN"}[query.lang],
            "pageno": page + 1,
        }
        return SearchRequest("GET", f"{base}/search", params=params)

    def read(body: bytes) -> list[SearchResult]:
        answer = json.decode(body, type=_SearxngAnswer)
        if not answer.results and answer.unresponsive_engines:
            raise SearchFailed("server", "SearXNG received no response from any of its search engines", passing=True)
        return _convert(answer.results)

    # The number of results per page depends on the configured engines.
    return SearchService("searxng", ask, read, page_size=10, pages=5, interval_s=1.0)


def open_serper(setting: SearchContext) -> SearchService:
    """Open Serper, which returns Google's results: https://serper.dev.

    Dates are passed in Google's `tbs` parameter (https://serpapi.com/advanced-google-query-parameters).
    """
    url = f"{setting.base_url('SERPER_BASE_URL', 'https://google.serper.dev')}/search"
    headers = {"X-API-KEY": setting.key("SERPER_API_KEY")}

    def ask(query: Query, page: int) -> SearchRequest:
        country, language = {"en": ("us", "en"), "zh": ("cn", "zh-cn")}[query.lang]
        body: dict[str, object] = {"q": query.text, "gl": country, "hl": language, "num": 10, "page": page + 1}
        if query.after or query.before:
            limits = [("cd_min", query.after), ("cd_max", query.before)]
            days = (f"{name}:{date.fromisoformat(day):%m/%d/%Y}" for name, day in limits if day)
            body["tbs"] = ",".join(["cdr:1", *days])
        return SearchRequest("POST", url, headers, body=body)

    def read(body: bytes) -> list[SearchResult]:
        return _convert(json.decode(body, type=_SerperAnswer).organic)

    # A page with more than ten results costs a second credit.
    return SearchService("serper", ask, read, page_size=10, pages=10, interval_s=0.1)


def _convert(results: Sequence[_Result]) -> list[SearchResult]:
    return [SearchResult(found.url, found.title, found.snippet or "", read_day(found.date)) for found in results]

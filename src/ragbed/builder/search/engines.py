"""The search engines with an HTTP API: Brave, SearXNG and Serper, with caching, pacing and retries.

Each `open_…` function describes one API. They were tested only against servers that follow the engines' documentation.
Redirects are not followed, so that no key reaches another host. Text from servers is never shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

import msgspec
from msgspec import Struct

from ragbed.builder.search.base import (
    Query,
    SearchContext,
    SearchFailed,
    SearchOutcome,
    SearchResult,
    make_hits,
    read_day,
)
from ragbed.builder.web.client import HostPacer
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UsageError
from ragbed.io.http import ACCEPT_ENCODING, HttpClient, HttpRequest, HttpResponse, parse_url
from ragbed.io.retry import HttpFailure, RetryPolicy, capped_retry_after_s
from ragbed.schema import Hit

_FORMAT = 2  # version of the cache format; increase it when an engine's results are parsed differently
_POLICY = RetryPolicy(attempt_s=30, attempts=3, first_pause_s=1.0, max_bytes=4 << 20)
_OUTCOMES: dict[int, tuple[SearchOutcome, str]] = {
    401: ("auth", ": check the API key and its permissions"),
    403: ("auth", ": check the API key and its permissions"),
    402: ("quota", ": the account's quota has been used up"),
    408: ("server", ""),
    429: ("rate", ""),
}
_PASSING = frozenset({"rate", "server"})


class _Result(Struct):
    """A result, with the names that the engines give its fields."""

    url: str = ""
    link: str = ""
    title: str = ""
    snippet: str | None = None
    description: str | None = None
    content: str | None = None
    date: str | None = None
    page_age: str | None = None
    publishedDate: str | None = None  # noqa: N815 - SearXNG's name


class _Web(Struct, frozen=True):
    results: tuple[_Result, ...] = ()


class _Answer(Struct):
    web: _Web = _Web()  # Brave's results; missing if nothing was found
    organic: list[_Result] = []  # Serper's
    results: list[_Result] = []  # SearXNG's
    unresponsive_engines: list[object] = []


@dataclass(frozen=True)
class SearchService:
    """A search engine's API.

    Args:
        name: Name of the engine.
        url: URL for searches.
        ask: Returns the parameters for a page of results, numbered from 0.
        headers: Headers, which may contain the API key and are never shown or stored.
        is_post: Whether the parameters are sent as JSON.
        page_size: Results per page.
        pages: Maximum number of pages that the engine returns.
        interval_s: Pause between calls, as required by the engine's documentation.
    """

    name: str
    url: str
    ask: Callable[[Query, int], Mapping[str, str | int]]
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    is_post: bool = False
    page_size: int = 10
    pages: int = 10
    interval_s: float = 1.0


def open_brave(setting: SearchContext) -> SearchService:
    """Open Brave Search: https://api-dashboard.search.brave.com/api-reference/web/search/get."""

    def ask(query: Query, page: int) -> dict[str, str | int]:
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
        return params

    url = f"{setting.base_url('BRAVE_BASE_URL', 'https://api.search.brave.com')}/res/v1/web/search"
    return SearchService("brave", url, ask, {"X-Subscription-Token": setting.key("BRAVE_API_KEY")}, page_size=20)


def open_searxng(setting: SearchContext) -> SearchService:
    """Open a SearXNG instance with JSON output: https://docs.searxng.org/dev/search_api.

    Its time ranges are not used, because they are relative to today; results with other dates are filtered out. The
    number of results per page depends on the configured engines.
    """
    base = setting.base_url("SEARXNG_BASE_URL", "")
    if not base:
        raise UsageError(
            "SEARXNG_BASE_URL is not set; set it to the URL of your SearXNG instance, e.g. http://localhost:8080."
        )

    def ask(query: Query, page: int) -> dict[str, str | int]:
        language = {"en": "en", "zh": "zh-CN"}[query.lang]
        return {"q": query.text, "format": "json", "language": language, "pageno": page + 1}

    return SearchService("searxng", f"{base}/search", ask, pages=5)


def open_serper(setting: SearchContext) -> SearchService:
    """Open Serper, which returns Google's results: https://serper.dev.

    Dates are passed in Google's `tbs` parameter (https://serpapi.com/advanced-google-query-parameters). A page with
    more than ten results costs a second credit.
    """

    def ask(query: Query, page: int) -> dict[str, str | int]:
        country, language = {"en": ("us", "en"), "zh": ("cn", "zh-cn")}[query.lang]
        params: dict[str, str | int] = {"q": query.text, "gl": country, "hl": language, "num": 10, "page": page + 1}
        if query.after or query.before:
            limits = [("cd_min", query.after), ("cd_max", query.before)]
            days = (f"{name}:{date.fromisoformat(day):%m/%d/%Y}" for name, day in limits if day)
            params["tbs"] = ",".join(["cdr:1", *days])
        return params

    url = f"{setting.base_url('SERPER_BASE_URL', 'https://google.serper.dev')}/search"
    return SearchService("serper", url, ask, {"X-API-KEY": setting.key("SERPER_API_KEY")}, is_post=True, interval_s=0.1)


class HttpSearchEngine:
    """A search engine with an HTTP API.

    Args:
        service: Its API.
        keep: Cache for results.
        policy: Time limits and retries.
    """

    def __init__(self, service: SearchService, keep: PageCache, policy: RetryPolicy = _POLICY) -> None:
        self.name = service.name
        self._service, self._keep, self._policy = service, keep, policy
        self._pace = HostPacer(service.interval_s)

    async def search(self, query: Query) -> list[Hit]:
        """Return at most `query.count` hits, best first; see `SearchEngine.search`."""
        results: list[SearchResult] = []
        hits: list[Hit] = []
        for page in range(self._service.pages):
            found = await self._page(query, page)
            results += found
            hits = make_hits(query, self.name, results)
            # All pages but the last are nearly full, so a page that is less than half full is the last one.
            if len(hits) >= query.count or len(found) < self._service.page_size // 2:
                break
        return hits

    async def _page(self, query: Query, page: int) -> list[SearchResult]:
        # The cache key includes neither the API key nor the URL.
        key = hashlib.sha256(msgspec.json.encode((_FORMAT, self.name, query, page))).hexdigest()
        cached = self._keep.find_answer(key)
        if cached is not None:
            return msgspec.json.decode(cached, type=list[SearchResult])
        attempt = 1
        while True:
            try:
                results = await self._call(self._service.ask(query, page))
                break
            except SearchFailed as failed:
                if not failed.passing or attempt >= self._policy.attempts:
                    raise
                self._pace.postpone(self.name, self._policy.pause_s(attempt, failed.pause_s))
            attempt += 1
        self._keep.keep_answer(key, msgspec.json.encode(results))
        return results

    async def _call(self, params: Mapping[str, str | int]) -> list[SearchResult]:
        async with self._pace.turn(self.name):
            response = await self._send(params)
        if response.status != 200:
            default: tuple[SearchOutcome, str] = ("server" if response.status >= 500 else "request", "")
            outcome, advice = _OUTCOMES.get(response.status, default)
            reason, pause_s = f"{self.name} answered {response.status}{advice}", capped_retry_after_s(response.headers)
            raise SearchFailed(outcome, reason, passing=outcome in _PASSING, pause_s=pause_s)
        try:
            answer = msgspec.json.decode(response.body, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            reason = f"the response from {self.name} is not in the documented format; check the base URL"
            raise SearchFailed("protocol", reason, passing=True) from error
        found = [*answer.web.results, *answer.organic, *answer.results]
        if not found and answer.unresponsive_engines:
            raise SearchFailed("server", "SearXNG received no response from any of its search engines", passing=True)
        return [
            SearchResult(
                one.url or one.link,
                one.title,
                one.snippet or one.description or one.content or "",
                read_day(one.date or one.page_age or one.publishedDate),
            )
            for one in found
        ]

    async def _send(self, params: Mapping[str, str | int]) -> HttpResponse:
        headers = {"Accept": "application/json", "Accept-Encoding": ACCEPT_ENCODING, **self._service.headers}
        body = None
        client = HttpClient(self._policy, trust_env=True)
        try:
            url = parse_url(self._service.url)
            if self._service.is_post:
                headers["Content-Type"], body = "application/json", msgspec.json.encode(params)
            else:
                url = url.update_query(params)
            method = "POST" if self._service.is_post else "GET"
            return await client.send(HttpRequest(method, url, headers, body), self._policy.attempt_s)
        except HttpFailure as failure:
            failed = _failure(self.name, failure)
        finally:
            await client.close()
        raise failed  # raised here to drop the original error, whose URL may contain the API key


def _failure(name: str, failure: HttpFailure) -> SearchFailed:
    match failure.kind:
        case "timeout":
            return SearchFailed("timeout", f"{name} did not respond in time", passing=True)
        case "connect" | "tls":
            reason = f"cannot connect to {name}; check the base URL and the network connection"
            return SearchFailed("connect", reason, passing=failure.again)
    return SearchFailed("protocol", f"the response from {name} is not valid HTTP; check the base URL", passing=True)

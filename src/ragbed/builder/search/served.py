"""Call search engines over HTTP with caching, pacing and retries; `engines.py` describes their APIs.

Redirects are not followed, so that no key reaches another host. Text from servers is never shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from ragbed.builder.search.base import Query, SearchFailed, SearchOutcome, SearchResult, make_hits
from ragbed.builder.web.client import HostPacer
from ragbed.builder.web.page_cache import PageCache
from ragbed.io.http import ACCEPT_ENCODING, HttpClient, HttpRequest, HttpResponse, parse_url
from ragbed.io.retry import HttpFailure, RetryPolicy, capped_retry_after_s
from ragbed.schema import Hit

_FORMAT = 1  # version of the cache format; increase it when an engine's results are parsed differently
_MAX_BYTES = 4 << 20


@dataclass(frozen=True)
class SearchRequest:
    """An HTTP request. Its headers and parameters may contain the API key and are never shown or stored."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    params: Mapping[str, str | int] = field(repr=False, default_factory=dict)
    body: Mapping[str, object] | None = None


@dataclass(frozen=True)
class SearchService:
    """A search engine's API.

    Args:
        name: Name of the engine.
        ask: Creates the request for a page of results, numbered from 0.
        read: Parses a response; raises `msgspec.DecodeError` if it is not valid.
        page_size: Results per page.
        pages: Maximum number of pages that the engine returns.
        interval_s: Pause between calls, as required by the engine's documentation.
    """

    name: str
    ask: Callable[[Query, int], SearchRequest]
    read: Callable[[bytes], list[SearchResult]]
    page_size: int
    pages: int
    interval_s: float


class HttpSearchEngine:
    """A search engine with an HTTP API.

    Args:
        service: Its API.
        keep: Cache for results.
        policy: Time limits and retries.
    """

    def __init__(self, service: SearchService, keep: PageCache, policy: RetryPolicy | None = None) -> None:
        self.name = service.name
        self._service, self._keep = service, keep
        self._policy = policy or RetryPolicy(attempt_s=30, attempts=3, first_pause_s=1.0, max_bytes=_MAX_BYTES)
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
        results = await self._call_with_retries(self._service.ask(query, page))
        self._keep.keep_answer(key, msgspec.json.encode(results))
        return results

    async def _call_with_retries(self, ask: SearchRequest) -> list[SearchResult]:
        attempt = 1
        while True:
            try:
                return await self._call(ask)
            except SearchFailed as failed:
                if not failed.passing or attempt >= self._policy.attempts:
                    raise
                self._pace.postpone(self.name, self._policy.pause_s(attempt, failed.pause_s))
            attempt += 1

    async def _call(self, ask: SearchRequest) -> list[SearchResult]:
        async with self._pace.turn(self.name):
            response = await self._send(ask)
        _refuse_status(self.name, response)
        try:
            return self._service.read(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SearchFailed(
                "protocol",
                f"the response from {self.name} is not in the documented format; check the base URL",
                passing=True,
            ) from error

    async def _send(self, ask: SearchRequest) -> HttpResponse:
        headers = {"Accept": "application/json", "Accept-Encoding": ACCEPT_ENCODING, **ask.headers}
        body = None
        if ask.body is not None:
            headers["Content-Type"], body = "application/json", msgspec.json.encode(ask.body)
        client = HttpClient(self._policy, trust_env=True)
        try:
            url = parse_url(ask.url).update_query(ask.params)
            return await client.send(HttpRequest(ask.method, url, headers, body), self._policy.attempt_s)
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


def _refuse_status(name: str, response: HttpResponse) -> None:
    status = response.status
    if status == 200:
        return
    reason = f"{name} answered {status}"
    if status in (401, 403):
        raise SearchFailed("auth", f"{reason}: check the API key and its permissions")
    if status == 402:
        raise SearchFailed("quota", f"{reason}: the account's quota has been used up")
    if status == 429 or status >= 500 or status == 408:
        outcome: SearchOutcome = "rate" if status == 429 else "server"
        raise SearchFailed(outcome, reason, passing=True, pause_s=capped_retry_after_s(response.headers))
    raise SearchFailed("request", reason)

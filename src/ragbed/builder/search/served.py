"""Call search engines over HTTP with caching, a quota, pacing and retries; each engine's module describes its API.

Redirects are not followed, so that no key reaches another host. Text from servers is never shown.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
import msgspec

from ragbed.builder.search.base import Query, SearchFailed, SearchOutcome, SearchResult, make_hits
from ragbed.builder.web.client import HostPacer
from ragbed.builder.web.decompress import ACCEPT_ENCODING, read_body
from ragbed.builder.web.limits import USER_AGENT, FetchFailed
from ragbed.builder.web.page_cache import PageCache
from ragbed.io.retry import capped_retry_after_s
from ragbed.schema import Hit

_FORMAT = 1  # version of the cache format; increase it when an engine's results are parsed differently
_MAX_BYTES = 4 << 20
_SPENT = frozenset({402, 432, 433})  # HTTP status codes for a used-up quota; 432 and 433 are specific to Tavily


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
        longest: Maximum length of a query in characters.
        interval_s: Pause between calls, as required by the engine's documentation.
    """

    name: str
    ask: Callable[[Query, int], SearchRequest]
    read: Callable[[bytes], list[SearchResult]]
    page_size: int
    pages: int
    longest: int
    interval_s: float


@dataclass(frozen=True)
class SearchRetryPolicy:
    """The settings for timeouts and retries. The pause between attempts doubles each time."""

    total_s: float = 30
    tries: int = 3
    pause_s: float = 1.0


class HttpSearchEngine:
    """A search engine with an HTTP API.

    Args:
        service: Its API.
        keep: Cache for results and counter for calls.
        quota: Maximum number of calls in all builds that share the cache; None means no limit.
        patience: Timeout and retries.
    """

    def __init__(
        self,
        service: SearchService,
        keep: PageCache,
        quota: int | None = None,
        patience: SearchRetryPolicy | None = None,
    ) -> None:
        self.name = service.name
        self._service, self._keep, self._quota = service, keep, quota
        self._patience = patience or SearchRetryPolicy()
        self._pace = HostPacer(service.interval_s, time.monotonic)

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
        key = _key(self.name, query, page)
        cached = self._keep.find_answer(key)
        if cached is not None:
            return msgspec.json.decode(cached, type=list[SearchResult])
        ask = self._service.ask(query, page)
        size = len(str(ask.params.get("q") or (ask.body or {}).get("q") or query.text))
        if size > self._service.longest:
            raise SearchFailed(
                "request", f"the query has {size} characters, but {self.name} allows at most {self._service.longest}"
            )
        results = await self._call_with_retries(ask)
        self._keep.keep_answer(key, msgspec.json.encode(results))
        return results

    async def _call_with_retries(self, ask: SearchRequest) -> list[SearchResult]:
        tries = 0
        while True:
            tries += 1
            try:
                return await self._call(ask)
            except SearchFailed as failed:
                if not failed.passing or tries >= self._patience.tries:
                    raise
                self._pace.postpone(self.name, max(failed.pause_s, self._patience.pause_s * 2 ** (tries - 1)))

    async def _call(self, ask: SearchRequest) -> list[SearchResult]:
        async with self._pace.turn(self.name):
            if not self._keep.count_call(self.name, self._quota):
                raise SearchFailed("quota", f"the quota of {self._quota} calls to {self.name} has been used up")
            body = await self._send(ask)
        try:
            return self._service.read(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SearchFailed(
                "protocol",
                f"the response from {self.name} is not in the documented format; check the base URL",
                passing=True,
            ) from error

    async def _send(self, ask: SearchRequest) -> bytes:
        own = {"User-Agent": USER_AGENT, "Accept-Encoding": ACCEPT_ENCODING, "Accept": "application/json"}
        session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._patience.total_s), trust_env=True, auto_decompress=False
        )
        request = session.request(
            ask.method,
            ask.url,
            params=ask.params,
            json=ask.body,
            headers={**own, **ask.headers},
            allow_redirects=False,
        )
        try:
            async with session, request as response:
                _refuse_status(self.name, response)
                return await read_body(response, _MAX_BYTES)
        except (aiohttp.ClientError, TimeoutError, FetchFailed, ValueError) as error:
            failed = _failure(self.name, error)
        raise failed  # raised here to drop the original error, whose URL may contain the API key


def _failure(name: str, error: Exception) -> SearchFailed:
    match error:
        case TimeoutError():
            return SearchFailed("timeout", f"{name} did not respond in time", passing=True)
        case aiohttp.InvalidURL() | ValueError():
            return SearchFailed(
                "connect", f"the base URL of {name} is not valid; it must start with http:// or https://"
            )
        case aiohttp.ClientConnectorError():
            return SearchFailed(
                "connect", f"cannot connect to {name}; check the base URL and the network connection", passing=True
            )
    return SearchFailed("protocol", f"the response from {name} is not valid HTTP; check the base URL", passing=True)


def _refuse_status(name: str, response: aiohttp.ClientResponse) -> None:
    status = response.status
    if status == 200:
        return
    reason = f"{name} answered {status}"
    if status in (401, 403):
        raise SearchFailed("auth", f"{reason}: check the API key and its permissions")
    if status in _SPENT:
        raise SearchFailed("quota", f"{reason}: the account's quota has been used up")
    if status == 429 or status >= 500 or status == 408:
        outcome: SearchOutcome = "rate" if status == 429 else "server"
        raise SearchFailed(outcome, reason, passing=True, pause_s=capped_retry_after_s(response.headers))
    raise SearchFailed("request", reason)


def _key(name: str, query: Query, page: int) -> str:
    """Return the cache key for a page of results; the cache key includes neither the API key nor the URL."""
    return hashlib.sha256(msgspec.json.encode((_FORMAT, name, query, page))).hexdigest()

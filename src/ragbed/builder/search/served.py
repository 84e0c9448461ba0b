"""Engines that are asked over HTTP: cached, counted, paced, tried again; an engine's own file says how it speaks.

Redirects are not followed, so that no key reaches another host; nothing that a server says is repeated.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
import msgspec

from ragbed.builder.search.base import Query, SearchFailed, SearchResult, make_hits
from ragbed.builder.web.decompress import ACCEPT_ENCODING, read_body
from ragbed.builder.web.fetch_errors import FetchFailed
from ragbed.builder.web.host_pacing import HostPacer
from ragbed.builder.web.limits import USER_AGENT
from ragbed.builder.web.page_cache import PageCache
from ragbed.io.http import retry_after
from ragbed.schema import Hit

_FORMAT = 1
"""Of what is cached; raised when an engine's results are read otherwise than before."""
_ANSWER_BYTES = 4 << 20
_SPENT = frozenset({402, 432, 433})
"""Payment required; Tavily's own two for plans that are used up."""


@dataclass(frozen=True)
class SearchRequest:
    """One request."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    """The key is here, or in the parameters; neither is ever shown or kept."""
    params: Mapping[str, str | int] = field(repr=False, default_factory=dict)
    body: Mapping[str, object] | None = None


@dataclass(frozen=True)
class SearchService:
    """How one engine speaks."""

    name: str
    ask: Callable[[Query, int], SearchRequest]
    """The request for a page of results, counted from 0."""
    read: Callable[[bytes], list[SearchResult]]
    """The results in an answer; a `msgspec.DecodeError` means that it is none."""
    page_size: int
    pages: int
    """As many as the engine gives at the most."""
    longest: int
    """Characters of a query."""
    interval_s: float
    """From one call to the next, as its documentation asks."""


@dataclass(frozen=True)
class SearchRetryPolicy:
    """How long and how often."""

    total_s: float = 30
    tries: int = 3
    pause_s: float = 1.0
    """Before the second try; doubled before each further one."""


class HttpSearchEngine:
    """An engine behind an address.

    Args:
        service: How it speaks.
        keep: Where answers are cached and calls counted.
        quota: Calls that may be made in all, over all runs that share the file; None: no limit.
        patience: How long and how often.
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
        """See `Engine`."""
        results: list[SearchResult] = []
        hits: list[Hit] = []
        for page in range(self._service.pages):
            found = await self._page(query, page)
            results += found
            hits = make_hits(query, self.name, results)
            # Engines give some pages that are not quite full; one that is half empty is the last.
            if len(hits) >= query.count or len(found) < self._service.page_size // 2:
                break
        return hits

    async def _page(self, query: Query, page: int) -> list[SearchResult]:
        key = _key(self.name, query, page)
        cached = self._keep.find_answer(key)
        if cached is not None:
            return msgspec.json.decode(cached, type=list[SearchResult])
        ask = self._service.ask(query, page)
        said = str(ask.params.get("q") or (ask.body or {}).get("q") or query.text)
        if len(said) > self._service.longest:
            raise SearchFailed(
                "request", f"the query has {len(said)} characters; {self.name} takes {self._service.longest}"
            )
        results = await self._insist(ask)
        self._keep.keep_answer(key, msgspec.json.encode(results))
        return results

    async def _insist(self, ask: SearchRequest) -> list[SearchResult]:
        tried = 1
        while True:
            try:
                return await self._call(ask)
            except SearchFailed as failed:
                if not failed.passing or tried >= self._patience.tries:
                    raise
                pause_s = max(failed.pause_s, self._patience.pause_s * 2 ** (tried - 1))
            self._pace.postpone(self.name, pause_s)
            tried += 1

    async def _call(self, ask: SearchRequest) -> list[SearchResult]:
        async with self._pace.turn(self.name):
            if not self._keep.count_call(self.name, self._quota):
                raise SearchFailed("quota", f"{self._quota} calls of {self.name} were allowed, and have been made")
            body = await self._send(ask)
        try:
            return self._service.read(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SearchFailed(
                "protocol",
                f"the answer of {self.name} is not what its documentation says; does its address lead elsewhere?",
                passing=True,
            ) from error

    async def _send(self, ask: SearchRequest) -> bytes:
        try:
            return await self._exchange(ask)
        except (aiohttp.ClientError, TimeoutError, FetchFailed, ValueError) as error:
            failed = _failure(self.name, error)
        raise failed  # out here: the error would go with it, and its text may hold the address, and that a key

    async def _exchange(self, ask: SearchRequest) -> bytes:
        own = {"User-Agent": USER_AGENT, "Accept-Encoding": ACCEPT_ENCODING, "Accept": "application/json"}
        timeout = aiohttp.ClientTimeout(total=self._patience.total_s)
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True, auto_decompress=False) as session,
            session.request(
                ask.method,
                ask.url,
                params=ask.params,
                json=ask.body,
                headers={**own, **ask.headers},
                allow_redirects=False,
            ) as response,
        ):
            _refuse_status(self.name, response)
            return await read_body(response, _ANSWER_BYTES)


def _failure(name: str, error: Exception) -> SearchFailed:
    match error:
        case TimeoutError():
            return SearchFailed("timeout", f"{name} did not answer in time", passing=True)
        case aiohttp.InvalidURL() | ValueError():
            return SearchFailed("connect", f"the address of {name} is none")
        case aiohttp.ClientConnectorError():
            return SearchFailed("connect", f"no connection to {name}", passing=True)
    return SearchFailed("protocol", f"{name} does not answer as it should", passing=True)


def _refuse_status(name: str, response: aiohttp.ClientResponse) -> None:
    status = response.status
    if status == 200:
        return
    said = f"{name} answered {status}"
    if status in (401, 403):
        raise SearchFailed("auth", f"{said}: is the key right, and may it do this?")
    if status in _SPENT:
        raise SearchFailed("quota", f"{said}: the account is used up")
    if status == 429:
        raise SearchFailed("rate", said, passing=True, pause_s=retry_after(response))
    if status >= 500 or status == 408:
        raise SearchFailed("server", said, passing=True, pause_s=retry_after(response))
    raise SearchFailed("request", said)


def _key(name: str, query: Query, page: int) -> str:
    """All that was asked, and nothing else: no key, no address."""
    return hashlib.sha256(msgspec.json.encode((_FORMAT, name, query, page))).hexdigest()

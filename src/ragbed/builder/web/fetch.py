"""Fetching pages politely and safely: every address ends in one named outcome.

In this order: what is kept and fresh is not asked for; robots.txt is heeded, for each hop; a host is asked one thing
at a time; only public addresses are connected to; what is kept is asked for only if it has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from ragbed.builder.web.addresses import AddressFilter
from ragbed.builder.web.client import Client, find_redirect, parse_page_url, refuse_status
from ragbed.builder.web.content_types import KINDS, is_told, kind_of
from ragbed.builder.web.decompress import read_body
from ragbed.builder.web.extra import need_extra
from ragbed.builder.web.fetch_errors import FetchFailed, FetchOutcome
from ragbed.builder.web.limits import FetchLimits
from ragbed.builder.web.page_cache import CachedPage, PageCache
from ragbed.builder.web.robots import Robots
from ragbed.io.http import hide_user


@dataclass(frozen=True)
class Fetched:
    """What became of one address."""

    url: str
    outcome: FetchOutcome
    reason: str = ""
    """Why there is no page."""
    page: CachedPage | None = None


class Fetcher:
    """Fetches pages. Used as `async with Fetcher(keep) as fetcher`.

    Args:
        keep: Where pages are kept.
        manners: The limits.
        gate: What may be connected to. Only who starts a server on this machine opens it further; no recipe can.
        resolver: Looks names up; the system does where there is none.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        keep: PageCache,
        manners: FetchLimits | None = None,
        *,
        gate: AddressFilter | None = None,
        resolver: AbstractResolver | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        need_extra("protego")
        self._keep, self._clock = keep, clock
        self._manners = manners or FetchLimits()
        self._client = Client(self._manners, gate or AddressFilter(), resolver)
        self._robots = Robots(self._client)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, at)

    async def fetch(self, url: str, kinds: frozenset[str] = KINDS) -> Fetched:
        """Brings one page, of one of these kinds."""
        try:
            return Fetched(hide_user(url), "ok", page=await self._bring(url, kinds))
        except FetchFailed as ended:
            return Fetched(hide_user(url), ended.outcome, ended.reason)

    async def _bring(self, url: str, kinds: frozenset[str]) -> CachedPage:
        start = parse_page_url(url)
        kept = self._keep.find_page(str(start))
        if kept is not None and self._clock() - kept.at < self._manners.fresh_s:
            _refuse_kind(kind_of(kept.content_type, kept.body), kinds)
            return kept
        tried = 1
        while True:
            try:
                return await self._follow(start, kept, kinds)
            except FetchFailed as ended:
                if not ended.passing or tried >= self._manners.tries:
                    raise
                self._client.postpone(start, ended.pause_s)
            tried += 1

    async def _follow(self, start: URL, kept: CachedPage | None, kinds: frozenset[str]) -> CachedPage:
        here = start
        for _ in range(self._manners.redirects + 1):
            pause_s = await self._robots.check(here)
            async with self._client.get(here, _conditions(kept, here), pause_s) as response:
                onward = find_redirect(here, response)
                if onward is None:
                    return await self._read(start, here, kept, response, kinds)
            here = onward
        raise FetchFailed("redirect", f"it was redirected more than {self._manners.redirects} times")

    async def _read(
        self, start: URL, here: URL, kept: CachedPage | None, response: aiohttp.ClientResponse, kinds: frozenset[str]
    ) -> CachedPage:
        now = self._clock()
        if response.status == 304 and kept is not None:
            _refuse_kind(kind_of(kept.content_type, kept.body), kinds)
            self._keep.renew_page(kept.url, now)
            return replace(kept, at=now)
        refuse_status(response)
        content_type = response.headers.get("Content-Type", "")
        if is_told(content_type):  # before anything is read
            _refuse_kind(kind_of(content_type), kinds)
        body = await read_body(response, self._manners.max_bytes)
        if not body:
            raise FetchFailed("empty", "the answer has no body")
        _refuse_kind(kind_of(content_type, body), kinds)
        etag, modified = (response.headers.get(name, "") for name in ("ETag", "Last-Modified"))
        page = CachedPage(str(start), str(here), content_type, body, etag, modified, now)
        self._keep.keep_page(page)
        return page


def _conditions(kept: CachedPage | None, here: URL) -> dict[str, str]:
    """Headers that ask for a page only if it is another than the one that is kept."""
    if kept is None or kept.final_url != str(here):
        return {}
    conditions = {"If-None-Match": kept.etag, "If-Modified-Since": kept.modified}
    return {name: value for name, value in conditions.items() if value}


def _refuse_kind(kind: str, kinds: frozenset[str]) -> None:
    if kind not in kinds:
        raise FetchFailed("type", f"a document of type {kind[:60]!r} is not read")

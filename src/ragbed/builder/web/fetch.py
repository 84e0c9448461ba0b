"""Fetch pages politely and safely. Failures are reported as outcomes, not raised.

Pages stored within the last day are not requested again. robots.txt is obeyed for every redirect. Each host gets one
request at a time, and connections are made only to public addresses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from ragbed.builder.web import need_extra
from ragbed.builder.web.client import (
    AddressFilter,
    Client,
    FetchFailed,
    FetchLimits,
    FetchOutcome,
    find_redirect,
    parse_page_url,
    refuse_status,
)
from ragbed.builder.web.formats import KINDS, UNKNOWN, kind_of
from ragbed.builder.web.page_cache import CachedPage, PageCache
from ragbed.builder.web.robots import Robots
from ragbed.io.http import hide_user, read_body


@dataclass(frozen=True)
class Fetched:
    """The result of fetching one URL: either a page, or the outcome and the reason for the failure."""

    url: str
    outcome: FetchOutcome
    reason: str = ""
    page: CachedPage | None = None


class Fetcher:
    """A client for fetching pages. Use it as `async with Fetcher(keep) as fetcher`.

    Args:
        keep: Cache for pages.
        manners: The limits.
        gate: Decides which addresses may be connected to. Recipes cannot change it.
        resolver: Name resolver; defaults to the system's.
        clock: Returns the current time in seconds since 1970.
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

    async def __aexit__(self, *error: object) -> None:
        await self._client.__aexit__(*error)

    async def fetch(self, url: str, kinds: frozenset[str] = KINDS) -> Fetched:
        """Fetch a page, which must have one of the given content types."""
        try:
            return Fetched(hide_user(url), "ok", page=await self._fetch(url, kinds))
        except FetchFailed as failed:
            return Fetched(hide_user(url), failed.outcome, failed.reason)

    async def _fetch(self, url: str, kinds: frozenset[str]) -> CachedPage:
        start = parse_page_url(url)
        stored = self._keep.find_page(str(start))
        if stored is not None and self._clock() - stored.at < self._manners.fresh_s:
            _refuse_kind(kind_of(stored.content_type, stored.body), kinds)
            return stored
        tries = 1
        while True:
            try:
                return await self._follow(start, kinds)
            except FetchFailed as failed:
                if not failed.passing or tries >= self._manners.tries:
                    raise
            tries += 1

    async def _follow(self, start: URL, kinds: frozenset[str]) -> CachedPage:
        here = start
        for _ in range(self._manners.redirects + 1):
            pause_s = await self._robots.check(here)
            try:
                async with self._client.get(here, pause_s) as response:
                    target = find_redirect(here, response)
                    if target is None:
                        return await self._read(start, here, response, kinds)
            except FetchFailed as failed:
                self._client.postpone(here, failed.pause_s if failed.passing else 0.0)
                raise
            here = target
        raise FetchFailed("redirect", f"there were more than {self._manners.redirects} redirects")

    async def _read(self, start: URL, here: URL, response: aiohttp.ClientResponse, kinds: frozenset[str]) -> CachedPage:
        refuse_status(response)
        content_type = response.headers.get("Content-Type", "")
        if (kind := kind_of(content_type)) not in UNKNOWN:  # the type is checked before the body is read
            _refuse_kind(kind, kinds)
        body = await read_body(response, self._manners.max_bytes)
        if not body:
            raise FetchFailed("empty", "the response has no body")
        _refuse_kind(kind_of(content_type, body), kinds)
        page = CachedPage(str(start), str(here), content_type, body, self._clock())
        self._keep.keep_page(page)
        return page


def _refuse_kind(kind: str, kinds: frozenset[str]) -> None:
    if kind not in kinds:
        raise FetchFailed("type", f"documents of type {kind[:60]!r} are not supported")

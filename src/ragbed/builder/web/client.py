"""Send GET requests to public addresses only, one at a time per host. Failures raise `FetchFailed`."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from ragbed.builder.web.addresses import AddressFilter, ForbiddenAddress
from ragbed.builder.web.decompress import ACCEPT_ENCODING
from ragbed.builder.web.limits import USER_AGENT, FetchFailed, FetchLimits, FetchOutcome
from ragbed.io.http import PASSING, REDIRECTS, as_failure, next_hop, parse_url
from ragbed.io.retry import HttpFailure, capped_retry_after_s

# Outcomes by type of exception; the first matching type is used.
_OUTCOMES: dict[type[Exception], FetchOutcome] = {
    aiohttp.ConnectionTimeoutError: "connect",
    TimeoutError: "timeout",
    aiohttp.ClientConnectorCertificateError: "tls",
    aiohttp.ClientConnectorSSLError: "tls",
    aiohttp.ClientConnectorDNSError: "dns",
    aiohttp.ClientConnectorError: "connect",
    aiohttp.InvalidURL: "address",
    aiohttp.ClientResponseError: "protocol",
}
_REASONS: dict[FetchOutcome, str] = {
    "timeout": "the server did not respond in time",
    "tls": "no trusted TLS connection could be established",
    "address": "the URL cannot be fetched",
}


@dataclass
class _Lane:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0


class HostPacer:
    """A limiter that allows one request per host at a time, with a pause between requests to the same host.

    Args:
        interval_s: Time from the start of one request to a host to the start of the next.
        clock: Monotonic clock in seconds.
    """

    def __init__(self, interval_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s, self._clock = interval_s, clock
        self._lanes: dict[str, _Lane] = defaultdict(_Lane)

    @asynccontextmanager
    async def turn(self, host: str, interval_s: float = 0.0) -> AsyncIterator[None]:
        """Wait until a request to a host is allowed; `interval_s` is the pause that the host requires."""
        lane = self._lanes[host]
        async with lane.lock:
            await asyncio.sleep(max(0.0, lane.free_at - self._clock()))
            lane.free_at = self._clock() + max(self._interval_s, interval_s)
            yield

    def postpone(self, host: str, pause_s: float) -> None:
        """Delay the next request to a host."""
        lane = self._lanes[host]
        lane.free_at = max(lane.free_at, self._clock() + pause_s)


class Client:
    """An HTTP client for pages, shared by all requests. Use it as `async with Client(...) as client`.

    Args:
        manners: The limits.
        gate: Decides which addresses may be connected to.
        resolver: Name resolver; defaults to the system's.
    """

    def __init__(self, manners: FetchLimits, gate: AddressFilter, resolver: AbstractResolver | None = None) -> None:
        self.manners, self._gate, self._resolver = manners, gate, resolver
        self._pace = HostPacer(manners.per_host_s)

    async def __aenter__(self) -> Self:
        limits = self.manners
        connector = aiohttp.TCPConnector(
            socket_factory=self._gate.open_socket, resolver=self._resolver, use_dns_cache=False, limit=0
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect_s, sock_read=limits.idle_s),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": ACCEPT_ENCODING},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,  # a proxy would bypass the check of the server's address; this also ignores .netrc
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._session.close()

    @asynccontextmanager
    async def get(
        self, url: URL, headers: Mapping[str, str] | None = None, interval_s: float = 0
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request without following redirects, and yield the response before its body is read."""
        try:
            async with (
                self._pace.turn(lane_of(url), interval_s),
                asyncio.timeout(self.manners.total_s),
                self._session.get(url, headers=headers, allow_redirects=False) as response,
            ):
                yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _failure(error, url) from error
        except ValueError as error:  # invalid host names, e.g. with labels of 64 characters
            raise FetchFailed("address", f"the URL cannot be fetched ({error})") from error

    def postpone(self, url: URL, pause_s: float) -> None:
        """Delay the next request to a URL's host."""
        self._pace.postpone(lane_of(url), pause_s)


def lane_of(url: URL) -> str:
    """Return a URL's host and port, to which only one request at a time is sent."""
    return f"{url.host}:{url.port}"


def parse_page_url(text: str) -> URL:
    """Parse a page's URL, or raise `FetchFailed`."""
    try:
        url = parse_url(text)
    except HttpFailure as refusal:
        raise FetchFailed("address", str(refusal)) from refusal
    if url.user is not None or url.password is not None:
        raise FetchFailed("address", "URLs that contain a user name or password are not followed")
    return url.with_fragment(None)


def find_redirect(here: URL, response: aiohttp.ClientResponse) -> URL | None:
    """Return the target of a redirect, or None if the response is not a redirect."""
    if response.status not in REDIRECTS:
        return None
    try:
        return parse_page_url(str(next_hop(here, response.headers.get("Location", ""))))
    except (HttpFailure, FetchFailed) as error:
        raise FetchFailed("redirect", str(error)) from error


def refuse_status(response: aiohttp.ClientResponse) -> None:
    """Raise `FetchFailed` for any status other than 200."""
    if response.status != 200:
        reason = f"the server returned HTTP {response.status} {response.reason or ''}".rstrip()
        raise FetchFailed(
            "status", reason, passing=response.status in PASSING, pause_s=capped_retry_after_s(response.headers)
        )


def _failure(error: aiohttp.ClientError | TimeoutError, url: URL) -> FetchFailed:
    outcomes = (outcome for kind, outcome in _OUTCOMES.items() if isinstance(error, kind))
    outcome: FetchOutcome = next(outcomes, "cut")
    os_error = error.os_error if outcome == "connect" and isinstance(error, aiohttp.ClientConnectorError) else None
    if isinstance(os_error, ForbiddenAddress):
        return FetchFailed("private", str(os_error.strerror))
    return FetchFailed(
        outcome,
        _REASONS.get(outcome) or str(as_failure(error, url)),
        passing=outcome in ("connect", "timeout", "dns", "cut"),
    )

"""Send GET requests to public addresses only, one at a time per host. Failures raise `FetchFailed`.

A name may resolve to a different address between a check and the connection (DNS rebinding). An address is therefore
checked when its socket is opened, regardless of the name, redirect or number format that led to it.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Literal, Self, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from ragbed.builder.web import MAX_PAGE_BYTES
from ragbed.io.http import ACCEPT_ENCODING, PASSING, REDIRECTS, HttpClient, next_hop, parse_url
from ragbed.io.retry import HttpFailure, RetryPolicy, capped_retry_after_s

AddrInfo: TypeAlias = tuple[int, int, int, str, tuple[Any, ...]]  # as returned by `socket.getaddrinfo`

_WEB_PORTS = frozenset({80, 443})
_NAT64 = ip_network("64:ff9b::/96")  # addresses in this range embed an IPv4 address in the last 32 bits
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            # Ranges from IANA's special-purpose registries. Python treats some of them as global, or did so before
            # 3.11.10.
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # 6to4 relays, deprecated
            "::/96",  # IPv4-compatible addresses, deprecated
            "64:ff9b:1::/48",  # local NAT64
            "100::/64",  # discard-only addresses
            "2001::/23",  # protocol assignments, including Teredo
            "2002::/16",  # 6to4 addresses, which embed an IPv4 address
            "3fff::/20",  # addresses for documentation
            "5f00::/16",  # segment routing
            "fec0::/10",  # site-local addresses, deprecated
        ),
    )
)
FetchOutcome: TypeAlias = Literal[
    "ok",
    "address",  # the URL is invalid or contains credentials
    "private",  # the URL leads to an address that is not public
    "robots",  # robots.txt disallows the page
    "dns",  # the host is unknown
    "connect",  # the connection could not be opened
    "tls",  # the certificate is not trusted
    "timeout",
    "cut",  # the connection was closed early
    "protocol",  # the response is not valid HTTP, or its content cannot be decompressed
    "server",  # the server failed temporarily, e.g. with HTTP status 503
    "status",  # any other HTTP status than 200
    "redirect",  # too many redirects, or a redirect to an unsupported URL
    "type",  # documents of this type are not supported
    "size",  # the page is larger than allowed
    "empty",  # the response is empty
]
_PASSING_OUTCOMES = frozenset({"connect", "timeout", "dns", "cut"})


class ForbiddenAddress(OSError):
    """Raised when a connection to a blocked address is attempted."""

    def __init__(self) -> None:
        # The message does not contain the address, so that errors for different addresses can be merged.
        super().__init__(
            errno.EACCES, "the URL leads to an address that is not public, or to a port other than 80 and 443"
        )


@dataclass(frozen=True)
class AddressFilter:
    """A filter that decides which connections are allowed.

    Args:
        loopback: Whether to also allow connections to this machine on any port, for a server started by the program.
    """

    loopback: bool = False

    def open_socket(self, info: AddrInfo) -> socket.socket:
        """Open a socket for an address, or raise `ForbiddenAddress`; aiohttp calls this before it connects."""
        family, kind, protocol, _, place = info
        if not self.lets_through(ip_address(place[0]), place[1]):
            raise ForbiddenAddress
        return socket.socket(family, kind, protocol)

    def lets_through(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        """Check whether a connection is allowed."""
        if self.loopback and address.is_loopback:
            return True
        return port in _WEB_PORTS and is_public(address)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Check whether an address is a public unicast address."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address.is_global and not address.is_multicast and not any(address in net for net in _NOT_PUBLIC)


@dataclass(frozen=True)
class FetchLimits:
    """Limits for each page and each host."""

    per_host_s: float = 1.0  # pause between requests to the same host; requests to different hosts run in parallel
    longest_delay_s: float = 60.0  # maximum pause; hosts whose robots.txt requires a longer one are skipped
    connect_s: float = 10  # time limit for connecting, including the DNS lookup
    idle_s: float = 15  # maximum pause between two parts of a response
    total_s: float = 60  # time limit for one response, however slowly it arrives
    max_bytes: int = MAX_PAGE_BYTES
    redirects: int = 5
    tries: int = 2  # maximum number of attempts if the failure may be temporary
    fresh_s: float = 86_400  # minimum age in seconds at which a stored page is requested again


class FetchFailed(Exception):
    """Raised when a fetch fails and returns no page.

    Args:
        outcome: Name of the failure.
        reason: Description without credentials.
        passing: Whether a retry may succeed.
        pause_s: Pause that the server requires before a retry.
    """

    def __init__(self, outcome: FetchOutcome, reason: str, *, passing: bool = False, pause_s: float = 0) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.passing, self.pause_s = outcome, reason, passing, pause_s


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
        self.manners, self._pace = manners, HostPacer(manners.per_host_s)
        self._connector: dict[str, Any] = {"socket_factory": gate.open_socket, "use_dns_cache": False}
        if resolver is not None:
            self._connector["resolver"] = resolver

    async def __aenter__(self) -> Self:
        policy = RetryPolicy(connect_s=self.manners.connect_s, silence_s=self.manners.idle_s)
        # The client does not use proxies, which would bypass the check of the server's address.
        self._http = HttpClient(policy, {"Accept-Encoding": ACCEPT_ENCODING}, self._connector)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()

    @asynccontextmanager
    async def get(self, url: URL, interval_s: float = 0) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request without following redirects, and yield the response before its body is read."""
        try:
            async with (
                self._pace.turn(lane_of(url), interval_s),
                asyncio.timeout(self.manners.total_s),
                self._http.open("GET", url) as response,
            ):
                yield response
        except TimeoutError as error:
            raise FetchFailed("timeout", "the server did not respond in time", passing=True) from error
        except HttpFailure as failure:
            raise _as_fetch_failure(failure) from failure

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
        is_temporary = response.status in PASSING
        pause_s = capped_retry_after_s(response.headers)
        raise FetchFailed("server" if is_temporary else "status", reason, passing=is_temporary, pause_s=pause_s)


def _as_fetch_failure(failure: HttpFailure) -> FetchFailed:
    """Convert a failure of the shared client, whose cause says whether the address, the name or the server failed."""
    cause = failure.__cause__
    if isinstance(getattr(cause, "os_error", None), ForbiddenAddress):
        return FetchFailed("private", str(ForbiddenAddress().strerror))
    outcome: FetchOutcome = "cut" if failure.kind == "network" else failure.kind
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        outcome = "dns"
    elif isinstance(cause, ValueError):
        outcome = "address"
    elif outcome == "protocol" and cause is None and not failure.again:
        outcome = "size"
    return FetchFailed(outcome, str(failure), passing=outcome in _PASSING_OUTCOMES)

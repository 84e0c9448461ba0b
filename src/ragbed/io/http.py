"""One request for the rest of a file, and what the answer means: its bytes, try again, or never."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from yarl import URL

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that may be otherwise in a moment; any other failure is final."""
_LONGEST_PAUSE_S = 60.0
"""However long a server asks us to wait (Retry-After), a person is sitting there."""
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


def hide_user(address: str) -> str:
    """An address as it may be shown: without the name and password that can stand before the host."""
    return re.sub(r"//[^/@]*@", "//", address)


class RequestRefused(Exception):
    """It will not work however often it is tried; the message says why.

    Args:
        problem: What happened.
        stale: Whether what came so far is of no use.
    """

    def __init__(self, problem: str, *, stale: bool = False) -> None:
        super().__init__(problem)
        self.stale = stale


class TransferInterrupted(Exception):
    """It did not work this time; the message says why.

    Args:
        problem: What happened.
        pause_s: How long the server asks us to wait.
        stale: Whether what came earlier cannot be continued.
        unreachable: Whether not even a connection came about.
    """

    def __init__(self, problem: str, *, pause_s: float = 0, stale: bool = False, unreachable: bool = False) -> None:
        super().__init__(problem)
        self.pause_s, self.stale, self.unreachable = pause_s, stale, unreachable


@dataclass(frozen=True)
class Body:
    """The bytes of a file from some place on."""

    response: aiohttp.ClientResponse
    start: int
    """Where in the file it begins: where it was asked for, or 0 if the server knows no ranges."""
    length: int | None
    """How many bytes are announced, which may be a lie."""


def parse_url(text: str) -> URL:
    """The address in a text, or Refused."""
    try:
        url = URL(text)
        host = URL(str(url)).host  # yarl reports some defects, as in http://[::zz], only when it reads the parts again
    except ValueError as error:
        raise RequestRefused(f"this is not a valid URL ({error})") from error
    if url.scheme not in ("http", "https") or not host:
        raise RequestRefused("only http and https URLs are supported")
    return url


@asynccontextmanager
async def open_body(session: aiohttp.ClientSession, url: URL, have: int, redirects: int) -> AsyncIterator[Body]:
    """Asks for a file from byte `have` on; whatever goes wrong, also while it is read, is Cut or Refused."""
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        async with _follow(session, url, headers, redirects) as response:
            _refuse_status(response)
            start = _find_start(response, have)
            encoded = "Content-Encoding" in response.headers
            yield Body(response, start, None if encoded else response.content_length)
    except aiohttp.ClientConnectorCertificateError as error:
        raise RequestRefused(f"the certificate of {error.host} is not trusted; is the clock right?") from error
    except (aiohttp.ClientError, TimeoutError) as error:
        raise as_cut(error) from error


@asynccontextmanager
async def _follow(
    session: aiohttp.ClientSession, url: URL, headers: dict[str, str], redirects: int
) -> AsyncIterator[aiohttp.ClientResponse]:
    for _ in range(redirects + 1):
        async with session.get(url, headers=headers, allow_redirects=False) as response:
            if response.status not in REDIRECTS:
                yield response
                return
            url = next_hop(url, response.headers.get("Location", ""))
    raise RequestRefused(f"it was redirected more than {redirects} times")


def next_hop(here: URL, location: str) -> URL:
    """Where a redirect leads, or Refused."""
    if not location:
        raise RequestRefused("it was redirected without saying where to")
    told = f"it was redirected to {hide_user(location)!r}"
    try:
        there = parse_url(str(here.join(URL(location))))
    except (ValueError, RequestRefused) as error:
        raise RequestRefused(f"{told}, which cannot be followed: {error}") from error
    if here.scheme == "https" and there.scheme == "http":
        raise RequestRefused(f"{told}, away from https, so that anybody on the way could change it")
    return there


def asked_pause_s(response: aiohttp.ClientResponse) -> float:
    """How long a server asks us to wait, within reason."""
    asked = response.headers.get("Retry-After", "")
    return min(float(asked), _LONGEST_PAUSE_S) if asked.isdecimal() else 0


def _refuse_status(response: aiohttp.ClientResponse) -> None:
    said = f"the server answered {response.status} {response.reason or ''}".rstrip()
    if response.status in PASSING:
        raise TransferInterrupted(said, pause_s=asked_pause_s(response))
    if response.status == 416:  # what we have is longer than the file there
        raise TransferInterrupted(said, stale=True)
    if response.status not in (200, 206):
        raise RequestRefused(said)


def _find_start(response: aiohttp.ClientResponse, have: int) -> int:
    if response.status == 200:
        return 0
    granted = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    # Ranges of a compressed answer count compressed bytes, which cannot be put together with plain ones.
    if granted is None or int(granted[1]) != have or "Content-Encoding" in response.headers:
        raise TransferInterrupted("the server sent another range than it was asked for", stale=True)
    return have


def as_cut(error: aiohttp.ClientError | TimeoutError) -> TransferInterrupted:
    """What an error of the network means, in plain words."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return TransferInterrupted("no connection came about in time", unreachable=True)
        case aiohttp.ClientConnectorDNSError():
            return TransferInterrupted(f"the host {error.host} cannot be found (is the network up?)", unreachable=True)
        case aiohttp.ClientConnectorError():
            return TransferInterrupted(
                f"no connection to {error.host}:{error.port}: {error.strerror or error}", unreachable=True
            )
        case TimeoutError():
            return TransferInterrupted("the server fell silent")
        case aiohttp.ClientResponseError():
            return TransferInterrupted(f"what answers does not speak HTTP as it should: {error.message}")
    return TransferInterrupted("the connection was cut")

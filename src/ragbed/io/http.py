"""Request the remaining bytes of a file, and decide which failed requests can be retried."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
from yarl import URL

from ragbed.io.retry_after import retry_after_s

REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Status codes of temporary errors, which are retried; all other errors are final.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
# Maximum pause, in seconds, after a Retry-After header. Longer pauses are shortened, because a user is waiting.
_MAX_PAUSE_S = 60.0
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


def hide_user(url: str) -> str:
    """Return a URL without its user name and password."""
    return re.sub(r"//[^/@]*@", "//", url)


class RequestRefused(Exception):
    """An error that a retry cannot fix; the message gives the reason.

    Args:
        problem: What happened.
        stale: Whether the bytes received so far are useless.
    """

    def __init__(self, problem: str, *, stale: bool = False) -> None:
        super().__init__(problem)
        self.stale = stale


class TransferInterrupted(Exception):
    """An error that a retry may fix; the message gives the reason.

    Args:
        problem: What happened.
        pause_s: The waiting time requested by the server.
        stale: Whether the bytes received so far are useless.
        unreachable: Whether no connection could be established.
    """

    def __init__(self, problem: str, *, pause_s: float = 0, stale: bool = False, unreachable: bool = False) -> None:
        super().__init__(problem)
        self.pause_s, self.stale, self.unreachable = pause_s, stale, unreachable


@dataclass(frozen=True)
class Body:
    """A response with a file's content from an offset onwards, or with the whole file if the server ignores ranges."""

    response: aiohttp.ClientResponse
    start: int
    length: int | None


def parse_url(text: str) -> URL:
    """Parse an http or https URL.

    Raises:
        RequestRefused: The URL is not valid.
    """
    try:
        url = URL(text)
        host = URL(str(url)).host  # yarl detects some errors, as in http://[::zz], only when it parses its own output
    except ValueError as error:
        raise RequestRefused(f"the URL is not valid ({error})") from error
    if url.scheme not in ("http", "https") or not host:
        raise RequestRefused("only http and https URLs are supported")
    return url


@asynccontextmanager
async def open_body(session: aiohttp.ClientSession, url: URL, have: int, redirects: int) -> AsyncIterator[Body]:
    """Request a file starting at byte `have`; all errors are raised as RequestRefused or TransferInterrupted."""
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        async with _follow(session, url, headers, redirects) as response:
            _check_status(response)
            start = _find_start(response, have)
            encoded = "Content-Encoding" in response.headers
            yield Body(response, start, None if encoded else response.content_length)
    except aiohttp.ClientConnectorCertificateError as error:
        raise RequestRefused(f"the certificate of {error.host} is not trusted; check the system clock") from error
    except (aiohttp.ClientError, TimeoutError) as error:
        raise as_interruption(error) from error


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
    raise RequestRefused(f"there were more than {redirects} redirects")


def next_hop(here: URL, location: str) -> URL:
    """Return the target of a redirect.

    Raises:
        RequestRefused: The target is missing or invalid, or leads from https to http.
    """
    if not location:
        raise RequestRefused("the server sent a redirect without a target")
    redirect = f"the server redirected to {hide_user(location)!r}"
    try:
        target = parse_url(str(here.join(URL(location))))
    except (ValueError, RequestRefused) as error:
        raise RequestRefused(f"{redirect}, but this URL is not valid: {error}") from error
    if here.scheme == "https" and target.scheme == "http":
        raise RequestRefused(f"{redirect}, but a redirect from https must use https")
    return target


def retry_after(response: aiohttp.ClientResponse) -> float:
    """Return the pause in seconds that a server requested, capped at a maximum."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return min(retry_after_s(headers, datetime.now(UTC)) or 0.0, _MAX_PAUSE_S)


def _check_status(response: aiohttp.ClientResponse) -> None:
    problem = f"the server returned HTTP {response.status} {response.reason or ''}".rstrip()
    if response.status in PASSING:
        raise TransferInterrupted(problem, pause_s=retry_after(response))
    if response.status == 416:  # the partial download is longer than the file
        raise TransferInterrupted(problem, stale=True)
    if response.status not in (200, 206):
        raise RequestRefused(problem)


def _find_start(response: aiohttp.ClientResponse, have: int) -> int:
    if response.status == 200:
        return 0
    sent = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    # Ranges of a compressed response refer to compressed bytes, which cannot be appended to uncompressed ones.
    if sent is None or int(sent[1]) != have or "Content-Encoding" in response.headers:
        raise TransferInterrupted("the server sent a different byte range from the one requested", stale=True)
    return have


def as_interruption(error: aiohttp.ClientError | TimeoutError) -> TransferInterrupted:
    """Convert a network error to a TransferInterrupted error with a plain message."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return TransferInterrupted("the connection timed out", unreachable=True)
        case aiohttp.ClientConnectorDNSError():
            return TransferInterrupted(
                f"the host {error.host} was not found; check the network connection", unreachable=True
            )
        case aiohttp.ClientConnectorError():
            problem = f"cannot connect to {error.host}:{error.port}: {error.strerror or error}"
            problem += (
                "; check the proxy settings (https_proxy, http_proxy)"
                if isinstance(error, aiohttp.ClientProxyConnectionError)
                else ""
            )
            return TransferInterrupted(problem, unreachable=True)
        case TimeoutError():
            return TransferInterrupted("the server stopped sending data")
        case aiohttp.ClientResponseError():
            return TransferInterrupted(f"the response is not valid HTTP: {' '.join(error.message.split())}")
    return TransferInterrupted("the connection was interrupted")

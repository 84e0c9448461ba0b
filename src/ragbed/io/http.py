"""Send HTTP requests with time limits, size limits and one type of error.

Models, batches, downloads, pages and search engines use the same client. It never follows a redirect by itself, so
that no header with a key reaches another host, and it stores no cookies.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ragbed import __version__
from ragbed.io.retry import HttpFailure, HttpFailureKind, RetryPolicy
from ragbed.io.threads import in_daemon_thread

REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Status codes of temporary errors, which are retried; all other errors are final.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
ACCEPT_ENCODING = "gzip"  # other encodings (br, zstd, nested ones) are not decompressed
# Maximum size of a stream of events, as a multiple of the maximum size of other bodies; an event of about 300 bytes may
# contain a single token.
_STREAM_FACTOR = 16
# Maximum size of an error body in bytes, before and after decompression; error messages are short.
_MAX_ERROR_BYTES = 64 << 10
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class HttpRequest(NamedTuple):
    """A request with a body or without one, and the proxy to use, if any."""

    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes | None = None
    proxy: URL | None = None


class HttpResponse(NamedTuple):
    """A complete response; the body of an error may be truncated."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Resolver(AbstractResolver):
    """Looks up hosts in daemon threads, because a lookup may hang for minutes and must not delay the end of a run."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host."""
        found = await in_daemon_thread(
            lambda: socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM), "ragbed-resolver"
        )
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=str(place[0]), port=port, family=kind, proto=protocol, flags=flags)
            for kind, _, protocol, _, place in found
        ]

    async def close(self) -> None:
        """Do nothing."""


class HttpClient:
    """A client with its own open connections; it must be created in an event loop.

    Args:
        policy: Time limits and the maximum size of a response.
        headers: Headers of all requests, in addition to the user agent.
        connector: Options for aiohttp's connector, e.g. a filter for the addresses that may be connected to.
        trust_env: Whether to use the proxies in the process's environment.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        headers: Mapping[str, str] | None = None,
        connector: Mapping[str, Any] | None = None,
        *,
        trust_env: bool = False,
    ) -> None:
        self._policy = policy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(**{"limit": 0, "resolver": _Resolver(), **(connector or {})}),
            timeout=aiohttp.ClientTimeout(total=None, connect=policy.connect_s, sock_read=policy.silence_s),
            headers={"User-Agent": f"ragbed/{__version__}", "Accept-Encoding": "identity", **(headers or {})},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # decompressed here up to a limit
            trust_env=trust_env,
        )
        # In `send`, the server may be silent until the first byte, because it is generating a response.
        self._patient = aiohttp.ClientTimeout(total=None, connect=policy.connect_s)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, and yield the response before its body is read.

        Args:
            method: The HTTP method.
            url: The URL.
            headers: The headers.
            options: Further arguments of `aiohttp.ClientSession.request`.

        Raises:
            HttpFailure: There was no response, or its body ended early.
        """
        if url.scheme == "https":
            options["ssl"] = self._tls
        try:
            async with self._session.request(
                method, url, headers=headers, allow_redirects=False, **options
            ) as response:
                yield response
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise as_failure(error, url, options.get("proxy")) from error

    async def send(self, request: HttpRequest, within_s: float, max_bytes: int | None = None) -> HttpResponse:
        """Send a request and return the complete response.

        Args:
            request: The request.
            within_s: The time limit in seconds.
            max_bytes: The maximum size of the body, if it differs from the policy's.

        Raises:
            HttpFailure: There was no valid and complete response in time.
        """
        loop = asyncio.get_running_loop()
        end, silence_s = loop.time() + within_s, self._policy.silence_s
        try:
            async with (
                asyncio.timeout_at(end) as timer,
                self.open(*request[:3], data=request.body, proxy=request.proxy, timeout=self._patient) as response,
            ):
                if response.status >= 400:
                    return HttpResponse(response.status, response.headers, await _read_error(response))
                is_stream = response.headers.get("Content-Type", "").strip().lower().startswith("text/event-stream")
                limit = max_bytes or self._policy.max_bytes * (_STREAM_FACTOR if is_stream else 1)
                content = await read_body(response, limit, lambda: timer.reschedule(min(end, loop.time() + silence_s)))
                return HttpResponse(response.status, response.headers, content)
        except TimeoutError:
            is_silent = loop.time() < end
            problem = f"no complete response was received within {within_s:.3g} s"
            problem = f"the server sent no data for {silence_s:,.6g} s" if is_silent else problem
            raise HttpFailure("timeout", problem, again=True) from None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()  # creating the context takes 0.1 s, so it is created only when needed


async def _read_error(response: aiohttp.ClientResponse) -> bytes:
    """Return the beginning of the body of an error, or nothing if it cannot be read."""
    try:
        return await read_start(response, _MAX_ERROR_BYTES)
    except HttpFailure:
        return b""


async def read_body(
    response: aiohttp.ClientResponse, limit: int, restart_timer: Callable[[], None] = lambda: None
) -> bytes:
    """Return the decompressed body; `restart_timer` is called before each piece is read.

    Raises:
        HttpFailure: The body is larger than the limit in bytes, or it cannot be decompressed.
    """
    if (response.content_length or 0) <= limit:
        body = await read_start(response, limit, restart_timer)
        if len(body) <= limit:
            return body
    raise HttpFailure("protocol", f"the response is larger than {limit >> 10:,} KiB")


async def read_start(
    response: aiohttp.ClientResponse, limit: int, restart_timer: Callable[[], None] = lambda: None
) -> bytes:
    """Return the decompressed body if it has at most `limit` bytes, otherwise its beginning, which is longer."""
    body = bytearray()
    restart_timer()
    async for piece in read_pieces(response, limit):
        body += piece
        if len(body) > limit:
            break
        restart_timer()
    return bytes(body)


async def read_pieces(response: aiohttp.ClientResponse, limit: int) -> AsyncIterator[bytes]:
    """Yield the decompressed body in pieces, until about `limit` bytes have been decompressed.

    Raises:
        HttpFailure: The body cannot be decompressed.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise HttpFailure(
            "protocol", f"the response has the content encoding {encoding[:40]!r}, which was not requested", again=True
        )
    decoder = None if encoding in ("", "identity") else _Decoder(limit)
    while not response.content.at_eof():
        piece = await response.content.readany()
        yield decoder.feed(piece) if decoder else piece
    if decoder and not decoder.is_complete:
        raise HttpFailure("protocol", "the compressed response is truncated", again=True)


class _Decoder:
    """Decompresses a body piece by piece up to a limit, because it may be a decompression bomb."""

    def __init__(self, limit: int) -> None:
        self._left = limit + 1
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)

    def feed(self, piece: bytes) -> bytes:
        decoded = bytearray()
        try:
            while piece and self._left > len(decoded):
                if self._stream.eof:  # a gzip file may have several members
                    self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
                decoded += self._stream.decompress(piece, self._left - len(decoded))
                piece = self._stream.unused_data or self._stream.unconsumed_tail
        except zlib.error as error:
            raise HttpFailure("protocol", f"the response cannot be decompressed ({error})", again=True) from None
        self._left -= len(decoded)
        return bytes(decoded)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof


def as_failure(error: Exception, url: URL, proxy: URL | None = None) -> HttpFailure:
    """Convert an error of aiohttp to an `HttpFailure` with a plain message."""
    server = str(url.origin()) if url.host else "the server"
    between = "" if proxy is None else f"the proxy {proxy.origin()}"
    kind: HttpFailureKind = "connect"
    again = True
    match error:
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(error.certificate_error, "verify_message", None) or error.certificate_error
            advice = "to trust a private certificate authority, set SSL_CERT_FILE to its certificate file"
            kind, again, problem = "tls", False, f"the certificate of {server} is not valid: {reason}; {advice}"
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            kind, again, problem = "tls", False, f"the TLS handshake with {server} failed ({_reason(error)})"
        case aiohttp.ClientHttpProxyError():
            again, problem = False, f"{between} refused the connection: HTTP {error.status} {error.message}"
        case aiohttp.ConnectionTimeoutError():
            problem = f"timed out while connecting to {between or server}"
        case aiohttp.ClientProxyConnectionError():
            advice = "check the proxy settings (https_proxy, http_proxy)"
            problem = f"cannot connect to {between or f'{error.host}:{error.port}'} ({_reason(error)}); {advice}"
        case aiohttp.ClientConnectorError():
            problem = f"cannot connect to {server} ({_reason(error)})"
        case TimeoutError():
            kind, problem = "timeout", "the server stopped sending data"
        case ValueError():  # among them aiohttp.InvalidURL
            again, problem = False, f"the URL cannot be requested ({error})"
        case aiohttp.ClientResponseError():
            kind, problem = "protocol", f"the response is not valid HTTP ({' '.join(error.message.split())})"
        case aiohttp.ClientPayloadError():
            kind, problem = "network", "the connection was lost (closed by the server)"
        case _:
            kind, problem = "network", f"the connection was lost ({_reason(error)})"
    return HttpFailure(kind, problem, again=again)


def _reason(error: Exception) -> str:
    """Return the system's description of an error."""
    inner = getattr(error, "os_error", error)
    number = getattr(inner, "errno", None) or 0
    if number > 0 and not isinstance(inner, ssl.SSLError):
        return os.strerror(number)
    return str(getattr(inner, "reason", None) or getattr(inner, "strerror", None) or inner)


def hide_user(url: str) -> str:
    """Return a URL without its user name and password."""
    return re.sub(r"//[^/@]*@", "//", url)


def parse_url(text: str) -> URL:
    """Parse an http or https URL.

    Raises:
        HttpFailure: The URL is not valid.
    """
    try:
        url = URL(text)
        host = URL(str(url)).host  # yarl detects some errors, as in http://[::zz], only when it parses its own output
    except ValueError as error:
        raise HttpFailure("connect", f"the URL is not valid ({error})") from error
    if url.scheme not in ("http", "https") or not host:
        raise HttpFailure("connect", "only http and https URLs are supported")
    return url


def next_hop(here: URL, location: str) -> URL:
    """Return the target of a redirect.

    Raises:
        HttpFailure: The target is missing or invalid, or leads from https to http.
    """
    if not location:
        raise HttpFailure("protocol", "the server sent a redirect without a target")
    redirect = f"the server redirected to {hide_user(location)!r}"
    try:
        target = parse_url(str(here.join(URL(location))))
    except (ValueError, HttpFailure) as error:
        raise HttpFailure("protocol", f"{redirect}, but this URL is not valid: {error}") from error
    if here.scheme == "https" and target.scheme == "http":
        raise HttpFailure("protocol", f"{redirect}, but a redirect from https must use https")
    return target

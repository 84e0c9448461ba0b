"""Connect to a server (DNS lookup, proxies, TLS), keep connections open, and send requests."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from ipaddress import ip_address, ip_network
from typing import TypeAlias

from aiohappyeyeballs import AddrInfoType, start_connection
from yarl import URL

from ragbed import __version__
from ragbed.errors import UsageError
from ragbed.models.failures import Failure
from ragbed.models.providers.http.connection import Connection, HttpResponse, ResponseLimits
from ragbed.models.secrets import encode_user_info, without_secrets
from ragbed.models.threads import in_daemon_thread

_Addresses: TypeAlias = list[AddrInfoType]
# Delay in seconds before trying the other address family (IPv4 or IPv6), as recommended in RFC 8305.
_HAPPY_EYEBALLS_S = 0.25
_MAX_PROXY_BYTES = 16 << 10
# A connection is not reused if it has been idle for more than this many seconds, because the server may be closing it.
_KEEP_S = 15.0
_TUNNEL_OPEN = re.compile(rb"HTTP/1\.[01] 200[ \r]")


def valid_url(text: str) -> URL | None:
    """Parse a URL; return None if it is invalid or has no host.

    yarl reports some defects, as in `http://[::zz]` or `http://xn--/`, only when it parses its own output.
    """
    try:
        url = URL(text)
        return url if URL(str(url)).host else None
    except ValueError:
        return None


def proxy_for(url: URL, environ: Mapping[str, str]) -> URL | None:
    """Return the proxy for a URL according to `https_proxy`, `http_proxy` and `no_proxy`.

    Raises:
        UsageError: The proxy is not a valid http:// URL.
    """
    variable, proxy_text = _lower_or_upper(environ, f"{url.scheme}_proxy")
    _, exempt = _lower_or_upper(environ, "no_proxy")
    if not proxy_text or any(_matches(pattern.strip(), url) for pattern in exempt.lower().split(",")):
        return None
    proxy = valid_url(proxy_text if "://" in proxy_text else f"http://{proxy_text}")
    if proxy is None:
        raise UsageError(f"{variable} is not set to a valid proxy URL. Use the form http://host:port.")
    if proxy.scheme != "http":
        raise UsageError(
            f"{variable} is set to a {proxy.scheme}:// proxy, but only http:// proxies are supported. Use an "
            "http:// proxy (https requests work through it too), or add the server to no_proxy."
        )
    return proxy


def _matches(pattern: str, url: URL) -> bool:
    """Return whether a URL matches a `no_proxy` entry: `*` or a domain, IP address or network with an optional port."""
    host = (url.host or "").lower()
    with suppress(ValueError):  # the `no_proxy` entry is not a network, or the host is not an IP address
        return ip_address(host) in ip_network(pattern.strip("[]"), strict=False)
    name, colon, port = pattern.rpartition(":")
    if colon and port.isdigit():
        return url.port == int(port) and _matches(name, url)
    suffix = pattern.lstrip(".")
    return bool(suffix) and (suffix in ("*", host) or host.endswith(f".{suffix}"))


def _lower_or_upper(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    used = name if environ.get(name) else name.upper()
    return used, environ.get(used) or ""


def merge_headers(*groups: Mapping[str, str]) -> dict[str, str]:
    """Merge headers; if a name occurs in several groups, in upper or lower case, the last value counts."""
    return dict({name.lower(): (name, value) for headers in groups for name, value in headers.items()}.values())


class _Connector:
    def __init__(self, origin: URL, proxy: URL | None) -> None:
        self._origin, self._proxy = origin, proxy
        self._addresses: asyncio.Future[_Addresses] | None = None

    async def connect(self, within_s: float) -> Connection:
        server = without_secrets(self._origin)
        try:
            async with asyncio.timeout(within_s):
                return await self._connect()
        except TimeoutError:
            raise Failure("connect", f"timed out while connecting to {server}", again=True) from None
        except ssl.SSLCertVerificationError as error:
            problem = f"the certificate of {server} is not valid: {error.verify_message}"
            raise Failure(
                "tls", f"{problem}; to trust a private certificate authority, set SSL_CERT_FILE to its certificate file"
            ) from None
        except ssl.SSLError as error:
            raise Failure("tls", f"the TLS handshake with {server} failed ({error.reason or error})") from None
        except (OSError, UnicodeError) as error:  # the resolver raises UnicodeError for some host names
            self._addresses = None  # the server's address may have changed
            number = getattr(error, "errno", None) or 0
            reason = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or error
            raise Failure("connect", f"cannot connect to {server} ({reason})", again=True) from None

    async def _connect(self) -> Connection:
        near = self._proxy or self._origin
        # Pass bytes, because Python would import its IDNA encoder for a string.
        host, port = (near.raw_host or "").encode(), near.port or 80
        if self._addresses is None:
            # Use a daemon thread, because a resolver may hang for minutes.
            self._addresses = in_daemon_thread(
                lambda: list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)), "ragbed-resolver"
            )
        # Shield the lookup from cancellation, because all connections being opened share it.
        addresses = await asyncio.shield(self._addresses)
        sock = await start_connection(addresses, happy_eyeballs_delay=_HAPPY_EYEBALLS_S)
        loop = asyncio.get_running_loop()
        if self._origin.scheme == "http":
            return (await loop.create_connection(Connection, sock=sock))[1]
        try:
            if self._proxy is not None:
                await self._tunnel(sock, self._proxy)
        except BaseException:
            sock.close()
            raise
        name = self._origin.raw_host
        return (await loop.create_connection(Connection, sock=sock, ssl=self._tls, server_hostname=name))[1]

    async def _tunnel(self, sock: socket.socket, proxy: URL) -> None:
        target = f"{self._origin.host_subcomponent}:{self._origin.port}"
        head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{_proxy_authorization(proxy)}\r\n"
        loop, answer = asyncio.get_running_loop(), b""
        await loop.sock_sendall(sock, head.encode("latin-1"))
        while b"\r\n\r\n" not in answer and len(answer) < _MAX_PROXY_BYTES:
            piece = await loop.sock_recv(sock, _MAX_PROXY_BYTES)
            if not piece:
                break
            answer += piece
        if not _TUNNEL_OPEN.match(answer):
            line, *_ = answer[:60].decode("latin-1").splitlines() or ["no response"]
            raise Failure("connect", f"the proxy {without_secrets(proxy)} refused the connection: {line}")

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()  # creating the context takes 0.1 s, so it is created only when needed
        context.set_alpn_protocols(["http/1.1"])
        return context


def _proxy_authorization(proxy: URL) -> str:
    return "" if proxy.user is None else f"Proxy-Authorization: Basic {encode_user_info(proxy)}\r\n"


class Server:
    """A server and its open connections.

    Args:
        origin: The server's URL without a path.
        proxy: The proxy to use, if any.
        connect_s: Time limit for opening a connection, in seconds.
    """

    def __init__(self, origin: URL, proxy: URL | None, connect_s: float) -> None:
        self._connector, self._connect_s = _Connector(origin, proxy), connect_s
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._is_relayed = proxy is not None and origin.scheme == "http"
        # Compression is not requested, because with short responses it would take more time than it saves.
        self._defaults = {
            "Host": origin.host_port_subcomponent or "",
            "User-Agent": f"ragbed/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        self._authorization = _proxy_authorization(proxy) if self._is_relayed and proxy is not None else ""
        # URL, headers and head of the last request; most requests to a server have the same head.
        self._last: tuple[URL | None, Mapping[str, str], str] = (None, {}, "")

    async def send(
        self, url: URL, headers: Mapping[str, str], body: bytes | None, limits: ResponseLimits
    ) -> HttpResponse:
        """Send a POST request to a URL on this server, or a GET request if the body is None.

        Raises:
            Failure: There was no valid response.
            TimeoutError: The response was not complete in time.
        """
        connection = self._take_idle()
        if connection is None:
            async with asyncio.timeout_at(limits.end):
                connection = await self._connector.connect(self._connect_s)
            self._all.add(connection)
        try:
            return await connection.send(self._write(url, headers, body), limits)
        finally:
            if connection.is_open:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
            else:
                self._all.discard(connection)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._all:
            connection.close()

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()  # the most recently used connection is the least likely to have been closed
            if connection.is_open and time.monotonic() - connection.idle_since < _KEEP_S:
                return connection
            connection.close()
            self._all.discard(connection)
        return None

    def _write(self, url: URL, headers: Mapping[str, str], body: bytes | None) -> bytes:
        last_url, last_headers, head = self._last
        if url is not last_url or headers != last_headers:
            head = self._write_head(url, headers)
            self._last = url, dict(headers), head
        if body is None:
            return f"GET {head}\r\n".encode("latin-1")
        lines = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"POST {head}{lines}\r\n".encode("latin-1") + body

    def _write_head(self, url: URL, headers: Mapping[str, str]) -> str:
        path = url.raw_path_qs
        if self._is_relayed:
            path = f"{url.scheme}://{url.host_port_subcomponent}{path}"
        user = {} if url.user is None else {"Authorization": f"Basic {encode_user_info(url)}"}
        merged = merge_headers(self._defaults, user, headers)
        lines = "".join([f"{name}: {value}\r\n" for name, value in merged.items()])
        return f"{path} HTTP/1.1\r\n{self._authorization}{lines}"

"""From an address to a connection: names looked up, proxies passed through, encryption agreed on."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from ipaddress import ip_address, ip_network
from typing import TypeAlias

from aiohappyeyeballs import AddrInfoType, start_connection
from yarl import URL

from ragbed.errors import UsageError
from ragbed.models.failures import Failure
from ragbed.models.providers.http_connection import Connection
from ragbed.models.secrets import pack_user, shown

_Addresses: TypeAlias = list[AddrInfoType]
_SECOND_TRY_S = 0.25
"""Where a name has addresses of both kinds, IPv4 and IPv6, the other kind is tried so soon (RFC 8305)."""
_ANSWER_BYTES = 16 << 10
"""Of a proxy that is asked to put us through."""
_PUT_THROUGH = re.compile(rb"HTTP/1\.[01] 200[ \r]")


def valid_url(text: str) -> URL | None:
    """Return the URL of a text, or None if it is not valid or names no host.

    Some defects, as in `http://[::zz]` or `http://xn--/`, yarl reports only when it reads the parts again.
    """
    try:
        url = URL(text)
        return url if URL(str(url)).host else None
    except ValueError:
        return None


def proxy_for(url: URL, environ: Mapping[str, str]) -> URL | None:
    """The proxy that the environment names for an address: `https_proxy`, `http_proxy`, but not for `no_proxy`.

    Raises:
        UsageError: The proxy speaks something else than plain HTTP.
    """
    variable, named = _lower_or_upper(environ, f"{url.scheme}_proxy")
    _, exempt = _lower_or_upper(environ, "no_proxy")
    if not named or any(_covers(pattern.strip(), url) for pattern in exempt.lower().split(",")):
        return None
    proxy = valid_url(named if "://" in named else f"http://{named}")
    if proxy is None:
        raise UsageError(f"{variable} is not the address of a proxy; write it as http://host:port.")
    if proxy.scheme != "http":
        raise UsageError(
            f"{variable} names a proxy of the scheme {proxy.scheme}://; only http:// proxies are supported (they carry "
            "https too). Set it to one, or list the server in no_proxy."
        )
    return proxy


def _covers(pattern: str, url: URL) -> bool:
    """Whether an entry of `no_proxy` means an address: `*`, a domain, an IP or a network, each with or without port."""
    host = (url.host or "").lower()
    with suppress(ValueError):  # an entry that is no network, or a host that is a name
        return ip_address(host) in ip_network(pattern.strip("[]"), strict=False)
    name, colon, port = pattern.rpartition(":")
    if colon and port.isdigit():
        return url.port == int(port) and _covers(name, url)
    suffix = pattern.lstrip(".")
    return bool(suffix) and (suffix in ("*", host) or host.endswith(f".{suffix}"))


def _lower_or_upper(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """The variable that is set, and its value."""
    used = name if environ.get(name) else name.upper()
    return used, environ.get(used) or ""


class Connector:
    """Makes connections to one server, directly or through a proxy."""

    def __init__(self, origin: URL, proxy: URL | None) -> None:
        self._origin, self._proxy = origin, proxy
        self._addresses: asyncio.Future[_Addresses] | None = None

    async def dial(self, within_s: float) -> Connection:
        """A new connection.

        Raises:
            Failure: None can be had.
        """
        where = shown(self._origin)
        try:
            async with asyncio.timeout(within_s):
                return await self._dial()
        except TimeoutError:
            raise Failure("connect", f"no connection to {where} in time", again=True) from None
        except ssl.SSLCertVerificationError as error:
            told = f"the certificate of {where} does not hold: {error.verify_message}"
            raise Failure("tls", f"{told}; your own authority can be named in SSL_CERT_FILE") from None
        except ssl.SSLError as error:
            raise Failure("tls", f"{where} does not speak TLS as we do ({error.reason or error})") from None
        except (OSError, UnicodeError) as error:  # a name that no resolver takes is a UnicodeError
            self._addresses = None  # it may have moved
            number = getattr(error, "errno", None) or 0
            reason = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or error
            raise Failure("connect", f"no connection to {where} ({reason})", again=True) from None

    async def _dial(self) -> Connection:
        near = self._proxy or self._origin
        if self._addresses is None:
            self._addresses = _look_up(near.raw_host or "", near.port or 80)
        # Shielded, because all who dial at one moment wait for the same look-up.
        found = await asyncio.shield(self._addresses)
        sock = await start_connection(found, happy_eyeballs_delay=_SECOND_TRY_S)
        loop = asyncio.get_running_loop()
        if self._origin.scheme == "http":
            return (await loop.create_connection(Connection, sock=sock))[1]
        try:
            if self._proxy is not None:
                await self._tunnel(sock, self._proxy)
        except BaseException:
            sock.close()
            raise
        host = self._origin.raw_host
        return (await loop.create_connection(Connection, sock=sock, ssl=self._trust, server_hostname=host))[1]

    async def _tunnel(self, sock: socket.socket, proxy: URL) -> None:
        """Has a proxy put us through to the server."""
        place = f"{self._origin.host_subcomponent}:{self._origin.port}"
        head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{proxy_authorization(proxy)}\r\n"
        loop, answer = asyncio.get_running_loop(), b""
        await loop.sock_sendall(sock, head.encode("latin-1"))
        while b"\r\n\r\n" not in answer and len(answer) < _ANSWER_BYTES:
            piece = await loop.sock_recv(sock, _ANSWER_BYTES)
            if not piece:
                break
            answer += piece
        if not _PUT_THROUGH.match(answer):
            told = answer[:60].decode("latin-1").splitlines()[:1] or ["nothing"]
            raise Failure("connect", f"the proxy {shown(proxy)} does not put us through: {told[0]}")

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """Whom the system trusts; read only where something is encrypted, since it takes a tenth of a second."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context


def proxy_authorization(proxy: URL) -> str:
    """The line that shows a proxy who is asking, where its address says so."""
    return "" if proxy.user is None else f"Proxy-Authorization: {basic(proxy)}\r\n"


def basic(url: URL) -> str:
    """The header's words for the name and password of an address."""
    return f"Basic {pack_user(url)}"


def _look_up(host: str, port: int) -> asyncio.Future[_Addresses]:
    """Addresses of a name, looked up in a thread that nothing waits for at the end: a resolver may hang for minutes."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[_Addresses] = loop.create_future()

    def settle(addresses: _Addresses, error: Exception | None) -> None:
        if found.done():
            return
        if error is None:
            found.set_result(addresses)
        else:
            found.set_exception(error)
            found.exception()  # marked as seen: who dialled may have given up

    def look() -> None:
        addresses: _Addresses = []
        problem = None
        try:
            # As bytes, since it is in ASCII already; of a text Python would load its own encoder of names.
            addresses = list(socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            problem = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, addresses, problem)

    threading.Thread(target=look, name="ragbed-resolver", daemon=True).start()
    return found

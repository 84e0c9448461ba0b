"""One server: the connections to it, kept between calls, and how a request is written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from yarl import URL

from ragbed import __version__
from ragbed.models.providers.connect import Connector, basic, proxy_authorization
from ragbed.models.providers.http_connection import Connection, HttpResponse, ResponseLimits

_KEEP_S = 15.0
"""A connection that was free for longer may just be being closed by the server, and is not used again."""


class Server:
    """A place that is asked.

    Args:
        origin: Its address, without a path.
        proxy: What stands between it and us, if anything does.
        connect_s: How long a connection may take to be made.
    """

    def __init__(self, origin: URL, proxy: URL | None, connect_s: float) -> None:
        self._dialler, self._connect_s = Connector(origin, proxy), connect_s
        self._free: list[Connection] = []
        self._all: set[Connection] = set()
        self._is_relayed = proxy is not None and origin.scheme == "http"
        # Replies are short: packing them would cost more than it saves.
        self._head = f"Host: {origin.host_port_subcomponent}\r\nUser-Agent: ragbed/{__version__}\r\n"
        self._head += "Accept: application/json\r\nAccept-Encoding: identity\r\n"
        if self._is_relayed and proxy is not None:
            self._head += proxy_authorization(proxy)

    async def ask(
        self, url: URL, headers: Mapping[str, str], body: bytes | None, limits: ResponseLimits
    ) -> HttpResponse:
        """Posts a body to an address of this server, or gets what is there where there is none.

        Raises:
            Failure: No reply came.
            TimeoutError: None came in time.
        """
        connection = self._take_free()
        if connection is None:
            async with asyncio.timeout_at(limits.end):
                connection = await self._dialler.dial(self._connect_s)
            self._all.add(connection)
        try:
            return await connection.ask(self._write(url, headers, body), limits)
        finally:
            if connection.is_open:
                connection.free_since = time.monotonic()
                self._free.append(connection)
            else:
                self._all.discard(connection)

    def close(self) -> None:
        """Ends all connections."""
        for connection in self._all:
            connection.close()

    def _take_free(self) -> Connection | None:
        """The connection that was used last, since it is the least likely to be closed."""
        while self._free:
            connection = self._free.pop()
            if connection.is_open and time.monotonic() - connection.free_since < _KEEP_S:
                return connection
            connection.close()
            self._all.discard(connection)
        return None

    def _write(self, url: URL, headers: Mapping[str, str], body: bytes | None) -> bytes:
        path = url.raw_path_qs
        if self._is_relayed:
            path = f"{url.scheme}://{url.host_port_subcomponent}{path}"
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if url.user is not None and "Authorization" not in headers:
            lines += f"Authorization: {basic(url)}\r\n"
        if body is None:
            return f"GET {path} HTTP/1.1\r\n{self._head}{lines}\r\n".encode("latin-1")
        lines += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"POST {path} HTTP/1.1\r\n{self._head}{lines}\r\n".encode("latin-1") + body

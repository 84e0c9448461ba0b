"""Keep the connections to one server open between calls, and write requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from yarl import URL

from ragbed import __version__
from ragbed.models.providers.http.connect import Connector, basic_authorization, proxy_authorization
from ragbed.models.providers.http.connection import Connection, HttpResponse, ResponseLimits

# A connection that was idle for longer is not used again: the server may be closing it.
_KEEP_S = 15.0


class Server:
    """A server and its connections.

    Args:
        origin: Its URL without a path.
        proxy: The proxy in front of it.
        connect_s: Time limit for a connection.
    """

    def __init__(self, origin: URL, proxy: URL | None, connect_s: float) -> None:
        self._connector, self._connect_s = Connector(origin, proxy), connect_s
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._is_relayed = proxy is not None and origin.scheme == "http"
        # Responses are short: compressing them would cost more than it saves.
        self._head = (
            f"Host: {origin.host_port_subcomponent}\r\nUser-Agent: ragbed/{__version__}\r\n"
            "Accept: application/json\r\nAccept-Encoding: identity\r\n"
        )
        if self._is_relayed and proxy is not None:
            self._head += proxy_authorization(proxy)

    async def send(
        self, url: URL, headers: Mapping[str, str], body: bytes | None, limits: ResponseLimits
    ) -> HttpResponse:
        """Send a POST request to a URL of this server, or a GET request if the body is None.

        Raises:
            Failure: There is no valid response.
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
            connection = self._idle.pop()  # the last one used is the least likely to be closed
            if connection.is_open and time.monotonic() - connection.idle_since < _KEEP_S:
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
            lines += f"Authorization: {basic_authorization(url)}\r\n"
        if body is None:
            return f"GET {path} HTTP/1.1\r\n{self._head}{lines}\r\n".encode("latin-1")
        lines += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"POST {path} HTTP/1.1\r\n{self._head}{lines}\r\n".encode("latin-1") + body

"""One JSON request to a model's server and back: connections, deadlines, retries, several servers."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar
from urllib.request import getproxies

import aiohttp

from ragbed import __version__
from ragbed.models.failure import Failure, from_status, wait_asked
from ragbed.models.pace import Pace

ReplyT = TypeVar("ReplyT")
_LOOK_UP_S = 5.0


@dataclass(frozen=True)
class Patience:
    """How long and how often a case is tried."""

    connect_s: float = 10
    attempt_s: float = 120
    item_s: float = 600
    """All attempts and pauses together."""
    attempts: int = 6
    first_pause_s: float = 0.5
    """Before the second attempt; doubled before each further one, up to a minute, and jittered."""
    max_bytes: int = 16 << 20
    """Of a decoded reply: a thousand times what a model writes for 256 tokens."""


class Key:
    """A secret that no repr, log or traceback shows."""

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for the header that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Key(…)"


@dataclass
class _Server:
    url: str
    flying: int = 0


class Transport:
    """A pool of connections to one or several servers of one model."""

    def __init__(
        self, urls: Sequence[str], headers: Callable[[], Mapping[str, str]], pace: Pace, patience: Patience
    ) -> None:
        self._servers = [_Server(url) for url in urls]
        self._headers, self._pace, self._patience = headers, pace, patience
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, body: bytes, parse: Callable[[bytes], ReplyT]) -> tuple[ReplyT, float, int]:
        """Posts a body until a reply parses; returns it with its latency and the number of attempts.

        Raises:
            Failure: The last one, when no further attempt makes sense or patience ends.
        """
        end = time.monotonic() + self._patience.item_s
        for attempt in range(1, self._patience.attempts + 1):
            try:
                reply, latency_s = await self._attempt(body, parse, end)
                return reply, latency_s, attempt
            except Failure as failure:
                failure.attempts = attempt
                pause = self._pause(attempt, failure)
                if not failure.again or attempt == self._patience.attempts or time.monotonic() + pause > end:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def look_up(self, url: str) -> bytes | None:
        """Gets a small page of the server, or None if it has no such page; for what it says of itself."""
        try:
            async with asyncio.timeout(_LOOK_UP_S), self._open().get(url, headers=self._headers(), allow_redirects=False) as response:
                return await self._read(response) if response.status == 200 else None
        except (TimeoutError, aiohttp.ClientError, ValueError, Failure):
            return None

    async def close(self) -> None:
        """Closes all connections."""
        if self._session is not None:
            await self._session.close()

    def _pause(self, attempt: int, failure: Failure) -> float:
        longest = min(60.0, self._patience.first_pause_s * 2 ** (attempt - 1))
        # Jitter upwards only: what the server asks for is the least.
        return (failure.wait_s or longest / 2) + random.random() * longest / 2

    async def _attempt(self, body: bytes, parse: Callable[[bytes], ReplyT], end: float) -> tuple[ReplyT, float]:
        await self._pace.enter()
        server = min(self._servers, key=lambda one: one.flying)
        server.flying += 1
        try:
            begun = time.monotonic()
            deadline = min(self._patience.attempt_s, max(0.01, end - begun))
            content = await self._post(server.url, body, deadline)
            reply = parse(content)
            self._pace.replied()
            return reply, time.monotonic() - begun
        except Failure as failure:
            if failure.kind == "rate":
                self._pace.throttled()
            raise
        finally:
            server.flying -= 1
            self._pace.leave()

    async def _post(self, url: str, body: bytes, deadline: float) -> bytes:
        try:
            async with (
                asyncio.timeout(deadline),
                self._open().post(url, data=body, headers=self._headers(), allow_redirects=False) as response,
            ):
                content = await self._read(response)
                if response.status == 200:
                    return content
                wait_s = wait_asked(response.headers, datetime.now(UTC))
                raise from_status(response.status, content.decode("utf-8", "replace"), wait_s)
        except TimeoutError:
            raise Failure("timeout", f"no reply within {deadline:.3g} s", again=True) from None
        except aiohttp.ClientSSLError as error:
            raise Failure("tls", _brief(error)) from None
        except aiohttp.ClientConnectorDNSError as error:
            raise Failure("network", f"{_brief(error)}; is the base URL right?", again=True) from None
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            raise Failure("network", _brief(error), again=True) from None
        except (aiohttp.ClientError, ValueError) as error:
            raise Failure("protocol", _brief(error), again=True) from None

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Reads no more than is allowed, decoded: a reply may be a bomb."""
        pieces, size = [], 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > self._patience.max_bytes:
                response.close()
                raise Failure("protocol", f"the reply is larger than {self._patience.max_bytes >> 20} MiB")
            pieces.append(piece)
        return b"".join(pieces)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._patience.connect_s),
                headers={"User-Agent": f"ragbed/{__version__}", "Content-Type": "application/json"},
                trust_env=bool(getproxies()),  # costs two thread hops a call, so only where a proxy is set
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__

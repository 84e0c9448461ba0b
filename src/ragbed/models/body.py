"""The body of a response, read up to a limit: it may be endless, or a bomb that unpacks to gigabytes."""

from __future__ import annotations

import zlib
from asyncio import Timeout
from collections.abc import Callable

import aiohttp

from ragbed.models.failure import Failure

ERROR_BYTES = 64 << 10
"""Of an error's body: messages are short, and pages of proxies say the same in their first lines."""
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


async def read_body(response: aiohttp.ClientResponse, limit: int, keep_alive: Callable[[], None]) -> bytes:
    """The decoded body, or a failure if it is larger than the limit.

    aiohttp's own unpacking is off: here no more is ever unpacked than the limit and one byte.

    Args:
        response: Its headers have come.
        limit: In bytes, on the wire and decoded.
        keep_alive: Called at every piece but the last, so that silence can be told from slowness.
    """
    announced = response.content_length
    if announced is not None and announced > limit:
        raise _too_large(response, limit)
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > limit:
            raise _too_large(response, limit)
        pieces.append(piece)
        if not response.content.is_eof():  # as a rule the first piece is all, and a timer costs as much as reading it
            keep_alive()
    packed = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    return packed if coding in ("identity", "") else _unpack(response, packed, coding, limit)


async def read_message(response: aiohttp.ClientResponse, keep_alive: Callable[[], None]) -> str:
    """What an error's body says, as far as it is short and can be read."""
    try:
        return (await read_body(response, ERROR_BYTES, keep_alive)).decode("utf-8", "replace")
    except Failure:
        return ""


def idle_watch(deadline: Timeout, clock: Callable[[], float], end: float, silence_s: float) -> Callable[[], None]:
    """A function that puts the end of a deadline off by the time that silence may last, but never past `end`."""
    return lambda: deadline.reschedule(min(end, clock() + silence_s))


def _unpack(response: aiohttp.ClientResponse, packed: bytes, coding: str, limit: int) -> bytes:
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Failure("protocol", f"the reply is encoded as {coding!r}, which was not asked for", again=True)
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        content = unpacker.decompress(packed, limit + 1)
    except zlib.error as error:
        raise Failure("protocol", f"the reply cannot be unpacked ({error})", again=True) from None
    if len(content) > limit:
        raise _too_large(response, limit)
    if not unpacker.eof:
        raise Failure("protocol", "the packed reply is cut short", again=True)
    return content


def _too_large(response: aiohttp.ClientResponse, limit: int) -> Failure:
    response.close()  # the rest is not wanted, so the connection cannot be used again
    return Failure("protocol", f"the reply is larger than {limit >> 10:,} KiB")

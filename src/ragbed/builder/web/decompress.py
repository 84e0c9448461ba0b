"""The body of an answer, unpacked piece by piece and never beyond a limit: it may be endless, or a bomb."""

from __future__ import annotations

import zlib

import aiohttp

from ragbed.builder.web.fetch_errors import FetchFailed

ACCEPT_ENCODING = "gzip"
"""All we ask for: what else is sent (br, zstd, one packing inside another) is not unpacked."""
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The decoded body.

    Raises:
        Ended: It is larger than the limit, in bytes, on the wire or decoded; or it cannot be unpacked.
    """
    if (response.content_length or 0) <= limit:
        body = await read_beginning(response, limit)
        if len(body) <= limit:
            return body
    raise FetchFailed("size", f"the answer is larger than {limit:,} bytes")


async def read_beginning(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The decoded body, or more than `limit` bytes of it if it goes on; aiohttp's own unpacking is off."""
    unpacker = _unpacker(response.headers.get("Content-Encoding", ""), limit)
    body = bytearray()
    async for piece in response.content.iter_any():
        body += unpacker.feed(piece) if unpacker else piece
        if len(body) > limit:
            return bytes(body)
    if unpacker:
        unpacker.finish()
    return bytes(body)


class _Unpacker:
    """One gzip or zlib stream after another."""

    def __init__(self, limit: int) -> None:
        self._limit, self._made = limit, 0
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)

    def feed(self, piece: bytes) -> bytes:
        made = bytearray()
        try:
            while piece and self._made + len(made) <= self._limit:
                if self._stream.eof:  # a gzip file may have several members
                    self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
                made += self._stream.decompress(piece, self._limit + 1 - self._made - len(made))
                piece = self._stream.unused_data or self._stream.unconsumed_tail
        except zlib.error as error:
            raise FetchFailed("encoding", f"the answer cannot be unpacked ({error})") from None
        self._made += len(made)
        return bytes(made)

    def finish(self) -> None:
        if not self._stream.eof:
            raise FetchFailed("cut", "the packed answer is cut short", passing=True)


def _unpacker(coding: str, limit: int) -> _Unpacker | None:
    match coding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _Unpacker(limit)
    raise FetchFailed("encoding", f"the answer is packed as {coding.strip()[:40]!r}, which was not asked for")

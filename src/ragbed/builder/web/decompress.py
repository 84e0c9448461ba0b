"""Decompress a response body piece by piece up to a limit, because the body may be endless or a decompression bomb."""

from __future__ import annotations

import zlib

import aiohttp

from ragbed.builder.web.limits import FetchFailed

ACCEPT_ENCODING = "gzip"  # other encodings (br, zstd, nested ones) are not decompressed
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the decoded body.

    Raises:
        FetchFailed: The body, compressed or decoded, exceeds the limit in bytes, or it cannot be decompressed.
    """
    if (response.content_length or 0) <= limit:
        body = await read_beginning(response, limit)
        if len(body) <= limit:
            return body
    raise FetchFailed("size", f"the response is larger than {limit:,} bytes")


async def read_beginning(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the decoded body; decoding stops soon after `limit` bytes, so the result may exceed the limit slightly.

    The body is decompressed here, because aiohttp's decompression is disabled.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise FetchFailed(
            "encoding", f"the response has the content encoding {encoding[:40]!r}, which was not requested"
        )
    decoder = None if encoding in ("", "identity") else _Decoder(limit)
    body = bytearray()
    async for piece in response.content.iter_any():
        body += decoder.feed(piece) if decoder else piece
        if len(body) > limit:
            return bytes(body)
    if decoder and not decoder.is_complete:
        raise FetchFailed("cut", "the compressed response is incomplete", passing=True)
    return bytes(body)


class _Decoder:
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
            raise FetchFailed("encoding", f"the response cannot be decompressed ({error})") from None
        self._left -= len(decoded)
        return bytes(decoded)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof

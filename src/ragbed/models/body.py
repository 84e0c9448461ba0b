"""The body of a reply as it was meant: unpacked, but never to more than a limit, for it may be a bomb."""

from __future__ import annotations

import zlib

from ragbed.models.exchange import Reply
from ragbed.models.failure import Failure

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_MESSAGE_BYTES = 64 << 10
"""Of an error's message, unpacked."""


def read_body(reply: Reply, limit: int) -> bytes:
    """The decoded body, or a failure if it is larger than the limit."""
    coding = reply.headers.get("content-encoding", "identity").strip().lower()
    return reply.body if coding in ("identity", "") else _unpack(reply.body, coding, limit)


def read_message(reply: Reply) -> str:
    """What an error's body says, as far as it can be read."""
    try:
        return read_body(reply, _MESSAGE_BYTES).decode("utf-8", "replace")
    except Failure:
        return ""


def _unpack(packed: bytes, coding: str, limit: int) -> bytes:
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Failure("protocol", f"the reply is encoded as {coding!r}, which was not asked for", again=True)
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        content = unpacker.decompress(packed, limit + 1)
    except zlib.error as error:
        raise Failure("protocol", f"the reply cannot be unpacked ({error})", again=True) from None
    if len(content) > limit:
        raise Failure("protocol", f"the reply is larger than {limit >> 10:,} KiB")
    if not unpacker.eof:
        raise Failure("protocol", "the packed reply is cut short", again=True)
    return content

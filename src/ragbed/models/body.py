"""Read the body of a response: unpack it up to a limit, and decode its JSON without discarding a paid response."""

from __future__ import annotations

import re
import zlib
from typing import Any, TypeVar

import msgspec

from ragbed.models.exchange import Reply
from ragbed.models.failure import Failure

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_MESSAGE_BYTES = 64 << 10
"""Of an error's message, unpacked."""
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u([dD][89a-fA-F][\da-fA-F]{2})|.)")
"""A JSON escape; the group is half a surrogate pair without its other half."""
_INT_DIGITS = 18
"""Most digits of a number that is read as an integer: no count or code has more, and Python refuses 4,300."""
_T = TypeVar("_T")


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


def decode_json(content: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Decode a response's JSON; a defect in a field that is not needed does not discard it.

    Half a surrogate pair becomes U+FFFD. Numbers out of range, NaN and raw control characters are accepted.

    Raises:
        msgspec.MsgspecError: It is not JSON, or a field that is needed has a wrong type.
        UnicodeDecodeError: It is not UTF-8.
        RecursionError: It is nested too deeply.
    """
    try:
        return decoder.decode(content)
    except msgspec.MsgspecError as error:
        try:
            return msgspec.convert(_decode_leniently(content.decode()), decoder.type)
        except (ValueError, msgspec.MsgspecError):
            raise error from None


def _decode_leniently(text: str) -> Any:  # noqa: ANN401 - whatever a server sends
    import json  # noqa: PLC0415 - needed for few servers

    def to_number(digits: str) -> int | float:
        return int(digits) if len(digits) <= _INT_DIGITS else float(digits)

    text = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return json.loads(text, strict=False, parse_int=to_number)


def _unpack(packed: bytes, coding: str, limit: int) -> bytes:
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Failure("protocol", f"the reply is encoded as {coding!r}, which was not asked for", again=True)
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        content = unpacker.decompress(packed, limit + 1)
    except zlib.error as error:
        raise Failure("protocol", f"the reply cannot be unpacked ({error})", again=True) from None
    if len(content) > limit:
        raise Failure("protocol", f"the response is larger than {limit >> 10:,} KiB")
    if not unpacker.eof:
        raise Failure("protocol", "the packed reply is cut short", again=True)
    return content

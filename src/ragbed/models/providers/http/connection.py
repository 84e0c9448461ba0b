"""Send one request at a time over a connection, and read each response up to a size limit.

Responses are parsed by llhttp (`httptools`), which Node and aiohttp also use.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from contextlib import suppress
from typing import Any, TypeVar, cast

import httptools
import msgspec

from ragbed.errors import MALFORMED_JSON
from ragbed.models.failures import Failure, Kind

# Size of the read buffer in bytes; most responses are about a tenth of this size.
_READ_BYTES = 16 << 10
# Maximum number of consecutive bytes that are not part of the body: headers, trailers or the extensions of one chunk.
_MAX_HEAD_BYTES = 64 << 10
# Maximum number of bytes received per byte of the body; a one-byte chunk takes six bytes.
_MAX_FRAMING = 8
# Maximum size of a stream of events, as a multiple of the maximum size of other bodies; an event of about 300 bytes may
# contain a single token.
_STREAM_FACTOR = 16
# Maximum size of an error body in bytes, before and after decompression; error messages are short.
_MAX_ERROR_BYTES = 64 << 10
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
# Matches a JSON escape sequence; the group matches an unpaired surrogate.
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u([dD][89a-fA-F][\da-fA-F]{2})|.)")
# Numbers with more digits than this are read as floats: no count is that long, and Python rejects integers of more than
# 4,300 digits.
_MAX_INT_DIGITS = 18
_T = TypeVar("_T")


class HttpResponse(msgspec.Struct, frozen=True):
    """An HTTP response; header names are in lower case, and an error body may be truncated."""

    status: int
    headers: dict[str, str]
    body: bytes


class ResponseLimits(msgspec.Struct, frozen=True):
    """The limits for a response: deadline (in event loop time), longest pause between chunks, and maximum size."""

    end: float
    silence_s: float
    body_bytes: int

    def max_bytes(self, headers: dict[str, str]) -> int:
        """Return the maximum size of a body, which depends on its content type."""
        is_stream = headers.get("content-type", "").strip().lower().startswith("text/event-stream")
        return self.body_bytes * (_STREAM_FACTOR if is_stream else 1)


class Connection(asyncio.BufferedProtocol):
    """A persistent connection that handles requests one after another.

    It reads into its own buffer, because asyncio would allocate 256 KiB for each response.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[HttpResponse] | None = None
        self._end, self._timer = 0.0, cast("asyncio.TimerHandle | None", None)
        self._parser = httptools.HttpResponseParser(self)
        # Accept responses from servers that do not follow the standard strictly, as browsers and aiohttp do.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._headers: dict[str, str] = {}
        self._in_body = False
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the connection can send another request."""
        return self._transport is not None and not self._transport.is_closing()

    async def send(self, request: bytes, limits: ResponseLimits) -> HttpResponse:
        """Send a complete request and wait for the response; any error closes the connection.

        Raises:
            Failure: The connection broke, or the response is not valid.
            TimeoutError: The response was not complete in time.
        """
        if self._transport is None:
            raise Failure("network", "the connection is closed", again=True)
        self._response, self._limits = self._loop.create_future(), limits
        self._set_deadline(limits.end)
        self._headers, self._in_body = {}, False
        self._body = bytearray()  # a list of many small chunks would take thirty times as much memory
        self._received = self._since_body = 0
        self._max_bytes = limits.body_bytes
        self._transport.write(request)
        try:
            return await self._response
        except BaseException:  # the next request must not receive the rest of this response
            self.close()
            raise
        finally:
            self._response = None

    def close(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    def _set_deadline(self, end: float) -> None:
        """Set the deadline. An earlier timer is kept and rescheduled when it fires, so most calls need no new timer."""
        self._end = end
        if self._timer is None or self._timer.when() > end:
            self._cancel_timer()
            self._timer = self._loop.call_at(end, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self._response is None or self._response.done():
            return
        if self._loop.time() < self._end:
            self._set_deadline(self._end)
        else:
            is_silent = self._end < self._limits.end
            problem = f"the server sent no data for {self._limits.silence_s:,.6g} s" if is_silent else ""
            self._response.set_exception(TimeoutError(problem))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # The following methods are called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Return the buffer for the next bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse newly received bytes."""
        if self._response is None or self._response.done():
            self.close()  # no request is waiting for these bytes, so the connection cannot be reused
            return
        self._received += nbytes
        self._since_body += nbytes
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail("protocol", f"the response is not valid HTTP ({error})")
        if self._response.done():
            return
        if self._since_body > _MAX_HEAD_BYTES:
            part = "trailers or chunk extensions" if self._in_body else "headers"
            self._fail("protocol", f"the response has more than {_MAX_HEAD_BYTES >> 10} KiB of {part}")
        elif self._received > _MAX_HEAD_BYTES + _MAX_FRAMING * self._max_bytes:
            self._fail_too_large()
        self._set_deadline(min(self._limits.end, self._loop.time() + self._limits.silence_s))

    def connection_lost(self, error: Exception | None) -> None:
        """End the response; a response without a length is complete when the server closes the connection."""
        self._transport = None
        self._cancel_timer()
        has_length = "content-length" in self._headers or "transfer-encoding" in self._headers
        if error is None and self._in_body and not has_length:
            self._finish()
        self._fail("network", f"the connection was lost ({error or 'closed by the server'})")

    # The following methods are called by the parser.

    def on_message_begin(self) -> None:
        """Start a new response, or close the connection if no request is waiting for one."""
        self._headers, self._in_body = {}, False
        if self._response is None or self._response.done():
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; ignore trailers."""
        if not self._in_body:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Check the announced body length."""
        self._in_body = self._parser.get_status_code() >= 200
        self._max_bytes = self._limits.max_bytes(self._headers)
        announced = self._headers.get("content-length", "0")
        if self._parser.get_status_code() == 200 and int(announced) > self._max_bytes:
            self._fail_too_large()

    def on_body(self, piece: bytes) -> None:
        """Append a piece of the body, without the chunk framing, which the parser has removed."""
        self._since_body = 0
        self._body += piece
        if self._parser.get_status_code() != 200:
            if len(self._body) > _MAX_ERROR_BYTES:
                self._finish()
                self.close()
        elif len(self._body) > self._max_bytes:
            self._fail_too_large()

    def on_message_complete(self) -> None:
        """Deliver the response, unless its status is 1xx."""
        if self._in_body:
            self._finish()
            if not self._parser.should_keep_alive():
                self.close()

    def _finish(self) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_result(HttpResponse(self._parser.get_status_code(), self._headers, bytes(self._body)))

    def _fail(self, kind: Kind, problem: str, *, again: bool = True) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(Failure(kind, problem, again=again))
        self.close()

    def _fail_too_large(self) -> None:
        self._fail("protocol", f"the response is larger than {self._max_bytes >> 10:,} KiB", again=False)


def read_body(response: HttpResponse, limit: int) -> bytes:
    """Return the uncompressed body.

    Raises:
        Failure: The body is larger than the limit, or cannot be uncompressed.
    """
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("identity", ""):
        return response.body
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Failure(
            "protocol", f"the response has the content encoding {coding!r}, which was not requested", again=True
        )
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        content = unpacker.decompress(response.body, limit + 1)
    except zlib.error as error:
        raise Failure("protocol", f"the response cannot be decompressed ({error})", again=True) from None
    if len(content) > limit:
        raise Failure("protocol", f"the response is larger than {limit >> 10:,} KiB")
    if not unpacker.eof:
        raise Failure("protocol", "the compressed response is truncated", again=True)
    return content


def read_message(response: HttpResponse) -> str:
    """Return the text of an error response, or an empty string if it cannot be read."""
    try:
        return read_body(response, _MAX_ERROR_BYTES).decode("utf-8", "replace")
    except Failure:
        return ""


def decode_json(content: bytes, decoder: msgspec.json.Decoder[_T], expected: str, hint: str = "") -> _T:
    """Decode a JSON response, tolerating defects in fields that are not needed.

    Invalid UTF-8 bytes and unpaired surrogates become U+FFFD. Numbers out of range, NaN and unescaped control
    characters are accepted.

    Args:
        content: The body of the response.
        decoder: The decoder for the expected type.
        expected: The name of the expected type for error messages.
        hint: A sentence that tells the user what to check.

    Raises:
        Failure: The body is not JSON or is nested too deeply, or a required field has an invalid type.
    """
    try:
        return decoder.decode(content)
    except MALFORMED_JSON as error:
        with suppress(ValueError, *MALFORMED_JSON):
            return msgspec.convert(_decode_leniently(content.decode("utf-8", "replace")), decoder.type)
        start = content[:60].decode("utf-8", "replace")
        problem = f"the response is not {expected} ({error}): {start!r}{hint}"
        raise Failure("protocol", problem, again=True) from None


def _decode_leniently(text: str) -> Any:  # noqa: ANN401 - a server may send anything
    import json  # noqa: PLC0415 - few servers need it

    def to_number(digits: str) -> int | float:
        return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)

    text = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return json.loads(text, strict=False, parse_int=to_number)

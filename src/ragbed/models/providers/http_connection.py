"""One request at a time on a connection, and its reply, read up to a limit.

Replies are parsed by llhttp (httptools), the parser of Node and aiohttp; what is left to do around it for one
POST after the other is little, and a general client does much more at every call (docs/runner.md has the figures).
"""

from __future__ import annotations

import asyncio
import re
import zlib
from typing import Any, NamedTuple, TypeVar, cast

import httptools
import msgspec

from ragbed.models.failures import Failure

_READ_BYTES = 16 << 10
"""At once; most replies are a tenth of it."""
_HEAD_BYTES = 64 << 10
"""Most bytes without a byte of the body among them: headers, trailers or one chunk's extensions. No server sends a
tenth of it."""
_FRAMING = 8
"""Most bytes received per byte that a body may have: chunks of one byte each take six."""
_MESSAGE_BYTES = 64 << 10
"""Of an error's body: messages are short, and pages of proxies say the same in their first lines."""


class HttpResponse(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    """By name in lower case; of several with one name the last."""
    body: bytes
    """As it was sent; of an error no more than its beginning."""


class ResponseLimits(NamedTuple):
    """How long a reply may take, and how large it may be."""

    end: float
    """When it must be whole, by the clock of the loop."""
    silence_s: float
    """Without a byte, once it has begun."""
    body_bytes: int


class Connection(asyncio.BufferedProtocol):
    """A connection that is kept: asks, reads the reply, and is then free for the next.

    It brings the memory that is read into: asyncio would take 256 KiB anew for every reply.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[HttpResponse] | None = None
        self._end, self._alarm = 0.0, cast("asyncio.TimerHandle | None", None)
        self._parser = httptools.HttpResponseParser(self)
        # Real servers are not all strict, and a browser or aiohttp reads these too.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._headers: dict[str, str] = {}
        self._in_body = False
        self.free_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes, limits: ResponseLimits) -> HttpResponse:
        """Sends a request, all of it, and waits for the reply; whatever goes wrong closes the connection.

        Raises:
            Failure: The connection broke, or what came is no reply.
            TimeoutError: It was not whole in time.
        """
        if self._transport is None:
            raise Failure("network", "the connection is closed", again=True)
        self._waiting, self._limits = self._loop.create_future(), limits
        self._wait_until(limits.end)
        self._headers, self._in_body = {}, False
        self._body = bytearray()  # a list of many small chunks would take thirty times their memory
        self._received = self._bare = 0
        self._transport.write(request)
        try:
            return await self._waiting
        except BaseException:  # the rest of a reply that nobody waits for must not meet the next request
            self.close()
            raise
        finally:
            self._waiting = None

    def close(self) -> None:
        """Ends the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _wait_until(self, end: float) -> None:
        """Has the wait end at a moment.

        An alarm that is set for an earlier one stays, and looks at the clock again then: most calls come back long
        before, and need not set and stop one each.
        """
        self._end = end
        if self._alarm is None or self._alarm.when() > end:
            self._stop_alarm()
            self._alarm = self._loop.call_at(end, self._look_at_the_clock)

    def _look_at_the_clock(self) -> None:
        self._alarm = None
        if self._waiting is None or self._waiting.done():
            return
        if self._loop.time() < self._end:
            self._wait_until(self._end)
        else:
            self._waiting.set_exception(TimeoutError())

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is there."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Where the next piece goes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """A piece of the reply came."""
        if self._waiting is None or self._waiting.done():
            self.close()  # nobody asked
            return
        self._received += nbytes
        self._bare += nbytes
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(Failure("protocol", f"the response is not valid HTTP ({error})", again=True))
        if self._waiting.done():
            return
        if self._bare > _HEAD_BYTES:
            part = "trailers or chunk extensions" if self._in_body else "headers"
            self._fail(Failure("protocol", f"the response has more than {_HEAD_BYTES >> 10} KiB of {part}", again=True))
        elif self._received > _HEAD_BYTES + _FRAMING * self._limits.body_bytes:
            self._fail(self._too_large())
        self._wait_until(min(self._limits.end, self._loop.time() + self._limits.silence_s))

    def connection_lost(self, error: Exception | None) -> None:
        """It broke, or the server closed it: the end of a reply that has no length."""
        self._transport = None
        self._stop_alarm()
        has_length = "content-length" in self._headers or "transfer-encoding" in self._headers
        if error is None and self._in_body and not has_length:
            self._finish()
        self._fail(Failure("network", f"the connection broke ({error or 'closed by the server'})", again=True))

    # What the parser calls.

    def on_message_begin(self) -> None:
        """A reply begins; a second one to the same request nobody asked for."""
        self._headers, self._in_body = {}, False
        if self._waiting is None or self._waiting.done():
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what follows the body (trailers) is not needed."""
        if self._in_body:
            return
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The body follows, if there is one."""
        self._in_body = self._parser.get_status_code() >= 200
        announced = self._headers.get("content-length", "0")
        if self._parser.get_status_code() == 200 and int(announced) > self._limits.body_bytes:
            self._fail(self._too_large())

    def on_body(self, piece: bytes) -> None:
        """A part of the body, unpacked from its chunks."""
        self._bare = 0
        self._body += piece
        if self._parser.get_status_code() != 200:
            if len(self._body) > _MESSAGE_BYTES:
                self._finish()
                self.close()
        elif len(self._body) > self._limits.body_bytes:
            self._fail(self._too_large())

    def on_message_complete(self) -> None:
        """The reply is whole; one that only asks for patience (1xx) is none."""
        if self._in_body:
            self._finish()
            if not self._parser.should_keep_alive():
                self.close()

    def _finish(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(HttpResponse(self._parser.get_status_code(), self._headers, bytes(self._body)))

    def _fail(self, failure: Failure) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(failure)
        self.close()

    def _too_large(self) -> Failure:
        return Failure("protocol", f"the response is larger than {self._limits.body_bytes >> 10:,} KiB")


_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_UNPACKED_MESSAGE_BYTES = 64 << 10
"""Of an error's message, unpacked."""
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u([dD][89a-fA-F][\da-fA-F]{2})|.)")
"""A JSON escape; the group is half a surrogate pair without its other half."""
_INT_DIGITS = 18
"""Most digits of a number that is read as an integer: no count or code has more, and Python refuses 4,300."""
_T = TypeVar("_T")


def read_body(reply: HttpResponse, limit: int) -> bytes:
    """The decoded body, or a failure if it is larger than the limit."""
    coding = reply.headers.get("content-encoding", "identity").strip().lower()
    return reply.body if coding in ("identity", "") else _unpack(reply.body, coding, limit)


def read_message(reply: HttpResponse) -> str:
    """What an error's body says, as far as it can be read."""
    try:
        return read_body(reply, _UNPACKED_MESSAGE_BYTES).decode("utf-8", "replace")
    except Failure:
        return ""


def decode_json(content: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Decode a response's JSON; a defect in a field that is not needed does not discard it.

    Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD. Numbers out of range, NaN and raw control
    characters are accepted.

    Raises:
        msgspec.MsgspecError: It is not JSON, or a field that is needed has a wrong type.
        UnicodeDecodeError: It is neither UTF-8 nor JSON.
        RecursionError: It is nested too deeply.
    """
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        try:
            return msgspec.convert(_decode_leniently(content.decode("utf-8", "replace")), decoder.type)
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

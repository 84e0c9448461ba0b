"""A web server of pages and files with scripted faults."""

from __future__ import annotations

import gzip
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias


class Exchange(BaseHTTPRequestHandler):
    """A request and its response."""

    protocol_version = "HTTP/1.1"
    server: FaultServer

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.server.asked.append((name, self.headers.get("Range")))
        self.server.heads.append(dict(self.headers))
        script = self.server.scripts.get(name, [serve])
        fault = script.pop(0) if len(script) > 1 else script[0]
        fault(self, self.server.files.get(name, b""))

    def log_message(self, *_: object) -> None:
        pass

    @property
    def start(self) -> int:
        """The first requested byte."""
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.begin(status, **({"Content_Length": str(len(body))} | headers))
        self.wfile.write(body)

    def begin(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def hang_up(self) -> None:
        self.close_connection = True


Fault: TypeAlias = Callable[[Exchange, bytes], None]


class FaultServer(ThreadingHTTPServer):
    """A server of `files` by name, each with a script: a list of faults, of which the last repeats."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.files: dict[str, bytes] = {}
        self.scripts: dict[str, list[Fault]] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.heads: list[dict[str, str]] = []
        self.closing = threading.Event()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection."""


@contextmanager
def running_server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def serve(exchange: Exchange, content: bytes) -> None:
    """Serve a file correctly, including ranges."""
    start = exchange.start
    if start == 0:
        exchange.answer(200, content)
    elif start >= len(content):
        exchange.answer(416, Content_Range=f"bytes */{len(content)}")
    else:
        exchange.answer(206, content[start:], Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")


def ignore_range(exchange: Exchange, content: bytes) -> None:
    exchange.answer(200, content)


def wrong_range(exchange: Exchange, content: bytes) -> None:
    """Send another range than requested."""
    if exchange.start:
        exchange.answer(206, content[1:], Content_Range=f"bytes 1-{len(content) - 1}/{len(content)}")
    else:
        exchange.answer(200, content)


def unnamed_range(exchange: Exchange, content: bytes) -> None:
    """Send a range without Content-Range."""
    exchange.answer(206 if exchange.start else 200, content)


def cut_after(count: int, fault: Fault = serve) -> Fault:
    """Announce the complete length and close the connection after this many bytes."""

    def cut(exchange: Exchange, content: bytes) -> None:
        whole, exchange.wfile = exchange.wfile, _Cutter(exchange.wfile, count)  # type: ignore[assignment]
        fault(exchange, content)
        exchange.wfile = whole
        exchange.hang_up()

    return cut


class _Cutter:
    """Pass the headers and this many bytes of the body."""

    def __init__(self, sink: Any, count: int) -> None:
        self._sink, self._left, self._in_body = sink, count, False

    def write(self, chunk: bytes) -> int:
        if self._in_body:
            self._sink.write(chunk[: self._left])
            self._left -= min(len(chunk), self._left)
        else:
            self._sink.write(chunk)
            self._in_body = chunk.endswith(b"\r\n\r\n")
        return len(chunk)


def announce(difference: int) -> Fault:
    """Send the complete file with a wrong length and close the connection."""

    def lie(exchange: Exchange, content: bytes) -> None:
        exchange.answer(200, content, Content_Length=str(len(content) + difference))
        exchange.hang_up()

    return lie


def undelimited(count: int) -> Fault:
    """Send this many bytes without a length and close the connection."""

    def end_early(exchange: Exchange, content: bytes) -> None:
        exchange.begin(200, Connection="close")
        exchange.wfile.write(content[:count])

    return end_early


def other_bytes(exchange: Exchange, content: bytes) -> None:
    """Send wrong content of the right length."""
    start = exchange.start
    where = f"bytes {start}-{len(content) - 1}/{len(content)}"
    exchange.answer(206 if start else 200, b"x" * (len(content) - start), **({"Content_Range": where} if start else {}))


def status(code: int, **headers: str) -> Fault:
    body = b"" if code in (204, 304) else b"no"
    return lambda exchange, _: exchange.answer(code, body, **headers)


def page(body: bytes, kind: str = "text/html; charset=utf-8", **headers: str) -> Fault:
    """Send a document with its content type."""
    return lambda exchange, _: exchange.answer(200, body, Content_Type=kind, **headers)


def redirect(location: str, code: int = 302) -> Fault:
    return status(code, Location=location)


def stall(count: int | None = None) -> Fault:
    """Stop before the headers, or after this many bytes of the body."""

    def fall_silent(exchange: Exchange, content: bytes) -> None:
        if count is not None:
            exchange.begin(200, Content_Length=str(len(content)))
            exchange.wfile.write(content[:count])
        exchange.server.closing.wait(5)
        exchange.hang_up()

    return fall_silent


def drip(exchange: Exchange, content: bytes) -> None:
    """Send bytes slowly and never end."""
    exchange.begin(200, Content_Length=str(len(content)))
    for byte in content:
        exchange.wfile.write(bytes([byte]))
        if exchange.server.closing.wait(0.02):
            break
    exchange.hang_up()


def endless(exchange: Exchange, content: bytes) -> None:
    exchange.begin(200, Connection="close")
    while not exchange.server.closing.is_set():
        exchange.wfile.write(content or b"x")


def zipped(exchange: Exchange, content: bytes) -> None:
    """Compress although it was not requested; ranges count compressed bytes."""
    packed = gzip.compress(content, mtime=0)
    start = exchange.start
    if start:
        where = f"bytes {start}-{len(packed) - 1}/{len(packed)}"
        exchange.answer(206, packed[start:], Content_Encoding="gzip", Content_Range=where)
    else:
        exchange.answer(200, packed, Content_Encoding="gzip")


def bomb(exchange: Exchange, _: bytes) -> None:
    """Send a small response that uncompresses to 8 MiB."""
    exchange.answer(200, gzip.compress(bytes(8 << 20), 1), Content_Encoding="gzip")


def reset_after(count: int) -> Fault:
    """Send this many bytes, then reset the connection."""

    def reset(exchange: Exchange, content: bytes) -> None:
        exchange.begin(200, Content_Length=str(len(content)))
        exchange.wfile.write(content[:count])
        exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        exchange.connection.close()
        exchange.hang_up()

    return reset


def no_http(exchange: Exchange, _: bytes) -> None:
    exchange.wfile.write(b"SSH-2.0-nonsense\r\n")
    exchange.hang_up()

"""A model server in this event loop with scripted faults."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self, TypeAlias


@dataclass
class Exchange:
    """A request and the connection to its client."""

    head: str
    body: bytes
    at: float
    writer: asyncio.StreamWriter
    closing: bool = False

    @property
    def path(self) -> str:
        return self.head.split(" ")[1]

    async def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.begin(status, **({"Content_Length": str(len(body))} | headers))
        self.writer.write(body)
        await self.writer.drain()

    def begin(self, status: int, **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} X", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())

    def hang_up(self) -> None:
        self.closing = True


Fault: TypeAlias = Callable[[Exchange], Awaitable[None]]


@dataclass
class FaultServer:
    """Responds to POST requests by a script, whose last fault repeats, and to GET requests with pages by path."""

    script: list[Fault]
    pages: dict[str, bytes] = field(default_factory=dict)
    seen: list[Exchange] = field(default_factory=list)
    port: int = 0
    encryption: ssl.SSLContext | None = None
    connections: int = 0

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.encryption)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        place = "http://127.0.0.1" if self.encryption is None else "https://localhost"
        return f"{place}:{self.port}/v1"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # a client that goes away is what some tests are about
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lengths = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
            body = await reader.readexactly(int(lengths[0].split(":")[1])) if lengths else b""
            exchange = Exchange(head, body, asyncio.get_running_loop().time(), writer)
            if head.startswith("GET"):
                page = self.pages.get(exchange.path)
                await exchange.send(404 if page is None else 200, page or b"")
            else:
                self.seen.append(exchange)
                fault = self.script.pop(0) if len(self.script) > 1 else self.script[0]
                await fault(exchange)
            if exchange.closing:
                return


def chat(content: object = "Paris", finish: object = "stop", **more: object) -> bytes:
    """Return a chat completion."""
    message = {"role": "assistant", "content": content} | more
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}).encode()


def reply(body: bytes = b"", status: int = 200, **headers: str) -> Fault:
    async def send(exchange: Exchange) -> None:
        await exchange.send(status, body, **headers)

    return send


well = reply(chat())


def status(code: int, text: str = "no", **headers: str) -> Fault:
    return reply(json.dumps({"error": {"message": text, "code": text}}).encode(), code, **headers)


async def hang(exchange: Exchange) -> None:
    """Send nothing."""
    await asyncio.sleep(60)


async def hang_in_body(exchange: Exchange) -> None:
    exchange.begin(200, Content_Length="100")
    exchange.writer.write(b'{"choices"')
    await asyncio.sleep(60)


async def drip(exchange: Exchange) -> None:
    """Send bytes slowly and never end."""
    exchange.begin(200, Content_Length="1000")
    for _ in range(1000):
        exchange.writer.write(b" ")
        await exchange.writer.drain()
        await asyncio.sleep(0.02)


async def reset(exchange: Exchange) -> None:
    """Reset the connection before a byte is sent."""
    sock = exchange.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.hang_up()


async def reset_in_body(exchange: Exchange) -> None:
    exchange.begin(200, Content_Length="1000")
    exchange.writer.write(b'{"choices"')
    await exchange.writer.drain()
    await reset(exchange)


async def close_early(exchange: Exchange) -> None:
    """Announce more bytes than are sent."""
    await exchange.send(200, chat(), Content_Length="1000")
    exchange.hang_up()


async def close_at_once(exchange: Exchange) -> None:
    exchange.hang_up()


def raw(content: bytes) -> Fault:
    """Send raw bytes and close the connection."""

    async def send(exchange: Exchange) -> None:
        exchange.writer.write(content)
        await exchange.writer.drain()
        exchange.hang_up()

    return send


async def endless(exchange: Exchange, **headers: str) -> None:
    """Send 100 MB in chunks."""
    exchange.begin(200, Transfer_Encoding="chunked", **headers)
    for _ in range(100):
        exchange.writer.write(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
        await exchange.writer.drain()


async def endless_stream(exchange: Exchange) -> None:
    await endless(exchange, Content_Type="text/event-stream; charset=utf-8")


def zipped(body: bytes, coding: str = "gzip") -> Fault:
    return reply(gzip.compress(body, 1, mtime=0), Content_Encoding=coding)


def bomb() -> Fault:
    """Send 100 kB that uncompress to 100 MB."""
    return zipped(bytes(100 << 20))

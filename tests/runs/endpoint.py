"""A model's server for tests and benchmarks: fixed latency, fixed slots, a log of every call it answered.

    python tests/runs/endpoint.py --latency 0.02 --slots 64 --log calls.txt

Prints its port. What it says depends on the request alone, so that equal runs give equal replies; the log has the
hash of each request, written when its reply goes out, and is the oracle of what was asked how often.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
from collections import deque


class Desk:
    """Answers so many calls at once; others wait."""

    def __init__(self, latency_s: float, slots: int, log: int | None) -> None:
        self.latency_s, self.free, self.log = latency_s, slots, log
        self.waiting: deque[tuple[Talk, bytes]] = deque()

    def take(self, talk: Talk, body: bytes) -> None:
        if not self.free:
            self.waiting.append((talk, body))
            return
        self.free -= 1
        asyncio.get_running_loop().call_later(self.latency_s, self._answer, talk, body)

    def _answer(self, talk: Talk, body: bytes) -> None:
        self.free += 1
        digest = hashlib.sha256(body).hexdigest()[:16]
        if self.log is not None:
            os.write(self.log, f"{digest}\n".encode())
        talk.reply(reply_to(digest))
        if self.waiting:
            self.take(*self.waiting.popleft())


class Talk(asyncio.Protocol):
    """One connection, kept alive."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._heard = desk, bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        while (end := self._heard.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._heard[:end]).lower()
            _, found, rest = head.partition(b"content-length:")
            size = int(rest.split(b"\r\n", 1)[0]) if found else 0
            if len(self._heard) < end + 4 + size:
                return
            body = bytes(self._heard[end + 4 : end + 4 + size])
            del self._heard[: end + 4 + size]
            if head.startswith(b"get "):
                self.reply(json.dumps({"data": [{"id": "m", "owned_by": "test"}]}).encode())
            else:
                self._desk.take(self, body)

    def reply(self, content: bytes) -> None:
        if not self._transport.is_closing():
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
            self._transport.write(head.encode() + content)


def reply_to(digest: str) -> bytes:
    """What is said to a request."""
    message = {"role": "assistant", "content": f"It is {digest}."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 700, "completion_tokens": 12}}).encode()


async def serve(latency_s: float, slots: int, log: str | None) -> None:
    handle = None if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    desk = Desk(latency_s, slots, handle)
    server = await asyncio.get_running_loop().create_server(lambda: Talk(desk), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--log")
    told = parser.parse_args()
    asyncio.run(serve(told.latency, told.slots, told.log))

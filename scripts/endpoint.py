"""A local endpoint for measurements: fixed latency, fixed slots, and on demand a rate limit and faults.

It speaks just enough HTTP and chat completions to be asked; it runs in a process of its own, prints its port and
then serves until it is ended. `GET /stats` tells what it saw, `POST /limit` with a number sets the rate (0: none).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter, deque

_BODY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "The answer is 42, as the documents say."},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 700, "completion_tokens": 12, "total_tokens": 712},
    }
).encode()
_MODELS = b'{"object":"list","data":[{"id":"m","object":"model","owned_by":"bench"}]}'
_ERROR = b'{"error":{"message":"on purpose"}}'


def _response(status: int, body: bytes, extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


_OK = _response(200, _BODY)


class Endpoint:
    """What all connections share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.loop = asyncio.get_running_loop()
        self.free, self.queue = options.slots, deque[Connection]()
        self.random = random.Random(options.seed)
        self.rate, self.tokens, self.filled = options.rps, options.burst, time.monotonic()
        self.seen: dict[str, Counter[int]] = {
            "ok": Counter(),
            "refused": Counter(),
            "failed": Counter(),
            "hung": Counter(),
        }
        self.not_before: dict[bytes, float] = {}
        self.early = 0

    def note(self, what: str) -> None:
        """Counts by second, so that rates over time can be drawn."""
        self.seen[what][int(time.monotonic())] += 1

    def allows(self) -> bool:
        """Takes a token from the bucket, if there is a bucket."""
        if not self.rate:
            return True
        now = time.monotonic()
        self.tokens = min(self.options.burst, self.tokens + (now - self.filled) * self.rate)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def stats(self) -> bytes:
        """All that was seen."""
        return json.dumps({"now": int(time.monotonic()), "early": self.early, **self.seen}).encode()


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.buffer = endpoint, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n")[0]) if at >= 0 else 0
            if len(self.buffer) < end + 4 + length:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
            self.answer(head, body)

    def answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"get /stats"):
            self.transport.write(_response(200, self.endpoint.stats()))
        elif head.startswith(b"get"):
            self.transport.write(_response(200, _MODELS))
        elif head.startswith(b"post /limit"):
            self.endpoint.rate = float(body)
            self.transport.write(_response(200, b"{}"))
        else:
            self.complete(body)

    def complete(self, body: bytes) -> None:
        """A chat completion: refused, failed, hung, or served when a slot is free."""
        endpoint, options = self.endpoint, self.endpoint.options
        if endpoint.not_before and time.monotonic() < endpoint.not_before.pop(body, 0.0):
            endpoint.early += 1
        chance = endpoint.random.random()
        if not endpoint.allows() or chance < options.refuse:
            self.refuse(body)
        elif chance < options.refuse + options.fail:
            endpoint.note("failed")
            self.transport.write(_response(500, _ERROR))
        elif chance < options.refuse + options.fail + options.hang:
            endpoint.note("hung")
        elif endpoint.free:
            endpoint.free -= 1
            endpoint.loop.call_later(options.latency, self.done)
        else:
            endpoint.queue.append(self)

    def refuse(self, body: bytes) -> None:
        endpoint, wait_s = self.endpoint, self.endpoint.options.retry_after
        endpoint.note("refused")
        if wait_s:
            endpoint.not_before[body] = time.monotonic() + wait_s
        self.transport.write(_response(429, _ERROR, f"Retry-After: {wait_s:g}\r\n" if wait_s else ""))

    def done(self) -> None:
        endpoint = self.endpoint
        endpoint.note("ok")
        if not self.transport.is_closing():
            self.transport.write(_OK)
        if endpoint.queue:
            endpoint.loop.call_later(endpoint.options.latency, endpoint.queue.popleft().done)
        else:
            endpoint.free += 1


def read_options(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds")
    parser.add_argument("--slots", type=int, default=64, help="calls served at once; more wait")
    parser.add_argument("--rps", type=float, default=0.0, help="calls a second; more get 429")
    parser.add_argument("--burst", type=float, default=10.0, help="size of the token bucket")
    parser.add_argument("--retry-after", type=float, default=0.0, help="seconds that a 429 asks for")
    parser.add_argument("--refuse", type=float, default=0.0, help="share of 429 besides")
    parser.add_argument("--fail", type=float, default=0.0, help="share of 500")
    parser.add_argument("--hang", type=float, default=0.0, help="share that is never answered")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


async def main(options: argparse.Namespace) -> None:
    """Serves until the process ends."""
    endpoint = Endpoint(options)
    server = await endpoint.loop.create_server(lambda: Connection(endpoint), "127.0.0.1", options.port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(read_options()))

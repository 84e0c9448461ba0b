"""A mock model server for tests and benchmarks: fixed latency and slots, on request also a rate limit and faults.

    with mock_model(Behaviour(latency_s=0.02, rate=50)) as url: …

The server runs in a separate process and answers chat completions at `url`. A response depends on the request alone,
so that equal runs get equal responses. The log has the hash of each request, written when its response is sent: it
shows which requests were answered, and how often. `GET stats` returns counts by second; `POST limit` sets the rate.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.servers.dialects import respond


@dataclass(frozen=True)
class Behaviour:
    """How the server behaves; without arguments, well."""

    latency_s: float = 0.05
    slots: int = 64
    """Requests answered concurrently; others wait."""
    log: str | None = None
    rate: float = 0.0
    """Requests per second; others get 429. 0: no limit."""
    burst: float = 10.0
    """Size of the token bucket."""
    retry_after_s: float = 0.0
    """Value of Retry-After in a 429. 0: no header."""
    refused: float = 0.0
    """Share of requests that get 429 regardless of the rate."""
    failed: float = 0.0
    """Share of requests that get 500."""
    hung: float = 0.0
    """Share of requests that are never answered."""
    seed: int = 0
    dialect: str = ""
    """Name in `dialects.py`; without one, the server answers as below."""


@contextmanager
def mock_model(behaviour: Behaviour) -> Iterator[str]:
    """Start a server; yield its base URL."""
    command = [sys.executable, "-m", __name__, json.dumps(asdict(behaviour))]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


_MODELS = b'{"object":"list","data":[{"id":"m","object":"model","owned_by":"test"}]}'
_ERROR = b'{"error":{"message":"on purpose"}}'
_COMPLETION = (
    b'{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"It is %s."},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":700,"completion_tokens":12,"total_tokens":712}}'
)


class _State:
    """The state that all connections share."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.free, self.waiting = behaviour.slots, deque[tuple[_Connection, bytes]]()
        self.random = random.Random(behaviour.seed)
        self.rate, self.tokens, self.filled = behaviour.rate, behaviour.burst, time.monotonic()
        self.seen: dict[str, Counter[int]] = {name: Counter() for name in ("ok", "refused", "failed", "hung")}
        self.not_before: dict[bytes, float] = {}
        self.early = 0
        path = behaviour.log
        self.log = None if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def count(self, outcome: str) -> None:
        self.seen[outcome][int(time.monotonic())] += 1

    def take_token(self) -> bool:
        """Take a token from the bucket; False if it is empty."""
        if not self.rate:
            return True
        now = time.monotonic()
        self.tokens = min(self.behaviour.burst, self.tokens + (now - self.filled) * self.rate)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def answer(self, connection: _Connection, body: bytes) -> None:
        """Answer when a slot is free."""
        if not self.free:
            self.waiting.append((connection, body))
            return
        self.free -= 1
        asyncio.get_running_loop().call_later(self.behaviour.latency_s, self._finish, connection, body)

    def _finish(self, connection: _Connection, body: bytes) -> None:
        self.free += 1
        self.count("ok")
        digest = hashlib.sha256(body).hexdigest()[:16].encode()
        if self.log is not None:
            os.write(self.log, digest + b"\n")
        if self.behaviour.dialect:
            status, content = respond(self.behaviour.dialect, json.loads(body), f"It is {digest.decode()}.")
            connection.send(status, content if isinstance(content, bytes) else json.dumps(content).encode())
        else:
            connection.send(200, _COMPLETION % digest)
        if self.waiting:
            self.answer(*self.waiting.popleft())


class _Connection(asyncio.Protocol):
    """One client's connection, kept alive."""

    def __init__(self, state: _State) -> None:
        self._state, self._received = state, bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end]).lower()
            _, found, rest = head.partition(b"content-length:")
            size = int(rest.split(b"\r\n", 1)[0]) if found else 0
            if len(self._received) < end + 4 + size:
                return
            body = bytes(self._received[end + 4 : end + 4 + size])
            del self._received[: end + 4 + size]
            self._handle(head, body)

    def _handle(self, head: bytes, body: bytes) -> None:
        state = self._state
        if head.startswith(b"get /v1/stats"):
            counts = {"now": int(time.monotonic()), "early": state.early, **state.seen}
            self.send(200, json.dumps(counts).encode())
        elif head.startswith(b"get "):
            self.send(200, _MODELS)
        elif head.startswith(b"post /v1/limit"):
            state.rate = float(body)
            self.send(200, b"{}")
        else:
            self._complete(body)

    def _complete(self, body: bytes) -> None:
        state, behaviour = self._state, self._state.behaviour
        if state.not_before and time.monotonic() < state.not_before.pop(body, 0.0):
            state.early += 1
        chance = state.random.random()
        if not state.take_token() or chance < behaviour.refused:
            self._refuse(body)
        elif chance < behaviour.refused + behaviour.failed:
            state.count("failed")
            self.send(500, _ERROR)
        elif chance < behaviour.refused + behaviour.failed + behaviour.hung:
            state.count("hung")
        else:
            state.answer(self, body)

    def _refuse(self, body: bytes) -> None:
        state, wait_s = self._state, self._state.behaviour.retry_after_s
        state.count("refused")
        if wait_s:
            state.not_before[body] = time.monotonic() + wait_s
        self.send(429, _ERROR, f"Retry-After: {wait_s:g}\r\n" if wait_s else "")

    def send(self, status: int, body: bytes, more: str = "") -> None:
        if not self._transport.is_closing():
            head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
            self._transport.write(head.encode() + body)


async def _serve(behaviour: Behaviour) -> None:
    state = _State(behaviour)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(state), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Behaviour(**json.loads(sys.argv[1]))))

"""A mock model server for tests and benchmarks with a fixed latency and number of slots.

    with mock_model(Behaviour(latency_s=0.02)) as url: …

The server runs in a separate process and answers chat completions at `url`. A response depends on the request alone,
so that equal runs get equal responses. The log has the hash of each request, written when its response is sent: it
shows which requests were answered, and how often.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections import deque
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
    dialect: str = ""
    """Name in `dialects.py`; without one, the server answers as below."""


@contextmanager
def mock_model(behaviour: Behaviour) -> Iterator[str]:
    """Start a server; yield its base URL."""
    command = [sys.executable, "-m", __name__, json.dumps(asdict(behaviour))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


_MODELS = b'{"object":"list","data":[{"id":"m","object":"model","owned_by":"test"}]}'
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
        path = behaviour.log
        self.log = None if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def answer(self, connection: _Connection, body: bytes) -> None:
        """Answer when a slot is free."""
        if not self.free:
            self.waiting.append((connection, body))
            return
        self.free -= 1
        asyncio.get_running_loop().call_later(self.behaviour.latency_s, self._finish, connection, body)

    def _finish(self, connection: _Connection, body: bytes) -> None:
        self.free += 1
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
        if head.startswith(b"get "):
            self.send(200, _MODELS)
        else:
            self._state.answer(self, body)

    def send(self, status: int, body: bytes) -> None:
        if not self._transport.is_closing():
            head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self._transport.write(head.encode() + body)


async def _serve(behaviour: Behaviour) -> None:
    state = _State(behaviour)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(state), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Behaviour(**json.loads(sys.argv[1]))))

"""Wire doubles of the engines: they answer as their documentation says, or badly on purpose."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

Reply: TypeAlias = tuple[int, bytes, dict[str, str]]


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)


class EngineServer(ThreadingHTTPServer):
    """Answers requests by a script of replies, of which the last repeats."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.script: list[Reply | Callable[[Asked], Reply]] = []
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what some tests are about."""


class _Exchange(BaseHTTPRequestHandler):
    server: EngineServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        params = {name: values[0] for name, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else {}
        asked = Asked(self.command, parts.path, params, dict(self.headers), body)
        self.server.asked.append(asked)
        step = self.server.script.pop(0) if len(self.server.script) > 1 else self.server.script[0]
        status, content, headers = step(asked) if callable(step) else step
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


def reply(content: object, status: int = 200, **headers: str) -> Reply:
    """JSON, or bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return status, body, {name.replace("_", "-"): value for name, value in headers.items()}


@contextmanager
def running_engine() -> Iterator[EngineServer]:
    with EngineServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

"""A model server in this process whose responses are computed by a function of the test."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeAlias


class ModelRequest(NamedTuple):
    """One POST request as the server received it."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def turns(self) -> list[str]:
        """Contents of the messages; of a completion without chat, its prompt."""
        body = self.body
        return [turn["content"] for turn in body["messages"]] if "messages" in body else [body["prompt"]]


Respond: TypeAlias = Callable[[ModelRequest], "str | tuple[int, object]"]
"""Returns the text of a completion, or a status and the JSON of any other response."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": "m", "owned_by": "test"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = self.server.respond(ModelRequest(self.path, dict(self.headers), body))
        if isinstance(response, str):
            message = {"role": "assistant", "content": response}
            choice = {"index": 0, "message": message, "text": response, "finish_reason": "stop"}
            response = 200, {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
        self._send(*response)

    def _send(self, status: int, content: object) -> None:
        encoded = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # so that connections of one window are accepted at once

    def __init__(self, respond: Respond) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond


@contextmanager
def function_model(respond: Respond) -> Iterator[str]:
    """Start a server; yield its base URL."""
    with _Server(respond) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()

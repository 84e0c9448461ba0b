"""A proxy that gives the original code and ragbed the same response to the same request, and records all requests."""

from __future__ import annotations

import hashlib
import json
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

# The fields that determine the response. The other fields that a side sends are reported, not compared.
COMPARED = ("model", "messages", "temperature", "top_p")


def request_hash(body: Mapping[str, Any]) -> str:
    """Return the hash of the fields of a request that determine the response; 1 and 1.0 are equal."""
    compared = {name: body.get(name) for name in COMPARED}
    compared |= {name: float(body[name]) for name in ("temperature", "top_p")}
    return hashlib.sha256(json.dumps(compared, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class ParityProxy:
    """A server for both sides, whose URL is `url(SIDE)`.

    Args:
        upstream: URL of a llama.cpp server, and its key. Without it, only known responses are returned.
        cache: File with the responses so far, by hash of the request.
        max_tokens: Maximum number of tokens in a response, for both sides.
    """

    def __init__(self, upstream: tuple[str, str] | None, cache: Path, max_tokens: int) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.known: dict[str, dict[str, Any]] = {}
        self._upstream, self._cache, self._max_tokens, self._lock = upstream, cache, max_tokens, Lock()
        if cache.exists():
            for line in cache.read_text(encoding="utf-8").splitlines():
                key, response = json.loads(line)
                self.known[key] = response
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, side: str) -> str:
        """Return the base URL for a side."""
        return f"http://127.0.0.1:{self._server.server_port}/{side}/v1"

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def respond(self, side: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the response to a request, or None if it is unknown and there is no model."""
        key = request_hash(body)
        with self._lock:
            self.requests.append((side, body))
            if key not in self.known and self._upstream is not None:
                self.known[key] = self._call(self._upstream, body)
                with self._cache.open("a", encoding="utf-8") as sink:
                    sink.write(json.dumps([key, self.known[key]], ensure_ascii=False) + "\n")
            return self.known.get(key)

    def _call(self, upstream: tuple[str, str], body: dict[str, Any]) -> dict[str, Any]:
        url, key = upstream
        content = json.dumps({name: body[name] for name in COMPARED} | {"max_tokens": self._max_tokens}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(f"{url}/v1/chat/completions", content, headers)
        with urllib.request.urlopen(request, timeout=1800) as answer:
            found: dict[str, Any] = json.load(answer)
        return {name: found[name] for name in ("object", "created", "choices", "usage")}

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(404, {"error": {"message": "not found"}})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                response = proxy.respond(self.path.split("/")[1], body)
                if response is None:
                    self._send(404, {"error": {"message": "this request was not recorded"}})
                else:
                    self._send(200, response | {"id": "parity", "model": body["model"]})

            def _send(self, status: int, content: dict[str, Any]) -> None:
                encoded = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
                """Print nothing."""

        return Handler

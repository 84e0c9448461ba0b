"""A real server of pages, started as a user starts it, and requests to it byte for byte."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

_JSON = {"Content-Type": "application/json"}


@dataclass
class Served:
    """A server at work."""

    address: str
    """As it was printed, with the token."""
    process: int
    cookie: str = ""
    write: str = ""

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].split("/")[0])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return self.address.partition("#")[2]

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request, byte for byte as given; status, headers and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = None if body is None else json.dumps(body).encode()
        connection.putrequest(method, path, skip_host="Host" in (headers or {}), skip_accept_encoding=True)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if sent is not None:
            connection.putheader("Content-Length", str(len(sent)))
        connection.endheaders(sent)
        answer = connection.getresponse()
        told = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return told

    def enter(self) -> None:
        """Hands the token in, as the page does."""
        status, headers, body = self.ask("POST", "/api/enter", self.token, _JSON)
        assert status == 200, body
        self.cookie, self.write = headers["set-cookie"].partition(";")[0], json.loads(body)["write"]

    def get(self, path: str, **params: object) -> Any:
        """What the server tells a page."""
        query = urlencode(params, doseq=True, quote_via=quote)
        status, _, body = self.ask("GET", f"{path}?{query}", headers={"Cookie": self.cookie})
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, body: object) -> int:
        """Changes something, as a page does."""
        headers = {"Cookie": self.cookie, "X-Ragbed-Write": self.write, "Origin": self.origin, **_JSON}
        return self.ask("POST", path, body, headers)[0]

    def wait_for(self, trials: int) -> None:
        """Until a viewer has read this many results."""
        for _ in range(600):
            if sum(run["indexed"] for run in self.get("/api/progress")["runs"]) >= trials:
                return
            time.sleep(0.05)
        raise AssertionError(f"{trials} results were not read: {self.get('/api/progress')}")


@contextmanager
def serve(*words: str) -> Iterator[Served]:
    """Starts `ragbed` with these words, at any port, and hands its token in."""
    command = [sys.executable, "-m", "ragbed", *words, "--port", "0"]
    cache = tempfile.TemporaryDirectory()
    environment = {"RAGBED_CACHE_DIR": cache.name, **os.environ}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise AssertionError(process.communicate()[1])
        served = Served(address, process.pid)
        served.enter()
        yield served
    finally:
        process.terminate()
        process.communicate(timeout=20)
        cache.cleanup()

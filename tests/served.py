"""A real server of pages, run as a user runs it, and requests to it byte for byte."""

from __future__ import annotations

import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from ragbed.cli import main
from tests.runs.harness import CONTEXT

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
        for _ in range(2_400):
            if sum(run["indexed"] for run in self.get("/api/progress")["runs"]) >= trials:
                return
            time.sleep(0.05)
        raise AssertionError(f"{trials} results were not read: {self.get('/api/progress')}")


@contextmanager
def serve(*words: str) -> Iterator[Served]:
    """Starts `ragbed` with these words, at any port, and hands its token in."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environ = {"RAGBED_CACHE_DIR": str(folder / "cache"), **os.environ}
        process = CONTEXT.Process(target=_run, args=((*words, "--port", "0"), environ, Path.cwd(), folder))
        process.start()
        try:
            served = Served(_read_address(folder / "output", process), process.pid or 0)
            served.enter()
            yield served
        finally:
            process.terminate()
            process.join(20)


def _read_address(output: Path, process: BaseProcess) -> str:
    """Returns the first line that the program prints."""
    while process.is_alive():
        line, end, _ = (output.read_text("utf-8") if output.exists() else "").partition("\n")
        if end:
            return line.strip()
        time.sleep(0.01)
    raise AssertionError(output.with_name("messages").read_text("utf-8"))


def _run(words: tuple[str, ...], environ: dict[str, str], current: Path, folder: Path) -> None:
    """Run the program in a process that was forked from one that has already loaded it, which saves a second."""
    os.chdir(current)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["ragbed", *words]
    with (
        open(folder / "output", "w", buffering=1, encoding="utf-8") as sys.stdout,
        open(folder / "messages", "w", buffering=1, encoding="utf-8") as sys.stderr,
    ):
        main()

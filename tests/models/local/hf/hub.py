"""A local server with the part of the Hub's API that a download needs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """A server of one repository, `org/model`, at one revision."""

    folder: Path
    url: str = ""
    sent: list[str] = field(default_factory=list)
    """Files that were downloaded."""

    def page(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers."""
        names = sorted(file.name for file in self.folder.iterdir())
        if path.startswith("/api/models/org/model"):
            if set(re.findall("[0-9a-f]{40}", path)) - {REVISION}:
                return 404, b"", {"X-Error-Code": "RevisionNotFound"}
            metadata = {"id": "org/model", "sha": REVISION, "siblings": [{"rfilename": name} for name in names]}
            entries = [{"type": "file", "path": name, "size": 1, "oid": "0" * 40} for name in names]
            body: object = entries if "/tree/" in path else metadata
            return 200, json.dumps(body).encode(), {"Content-Type": "application/json"}
        name = path.rpartition("/")[2]
        if path.startswith(f"/org/model/resolve/{REVISION}/") and name in names:
            body_bytes = (self.folder / name).read_bytes()
            etag = hashlib.sha256(body_bytes).hexdigest()
            return 200, body_bytes, {"ETag": f'"{etag}"', "X-Repo-Commit": REVISION}
        return 404, b"", {"X-Error-Code": "RepoNotFound"}


@contextmanager
def serve(folder: Path) -> Iterator[Hub]:
    """Run the server during a block."""
    hub = Hub(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET(only_head=True)

        def do_GET(self, *, only_head: bool = False) -> None:
            status, body, headers = hub.page(self.path)
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            if not only_head:
                self.wfile.write(body)
                if "/resolve/" in self.path:
                    hub.sent.append(self.path.rpartition("/")[2])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""The same system as an HTTP server, with the standard library only.

python plain_server.py
ragbed run -m http/localhost:8900/ask -d ragbed-mini-en_base
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from plain_rag import answer


class Handler(BaseHTTPRequestHandler):
    """Receives question, documents and lang as JSON, and returns the answer as JSON."""

    def do_POST(self) -> None:
        """Answer one question."""
        case = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"answer": answer(case["question"], case["documents"], case["lang"])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Suppress the log."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8900), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()

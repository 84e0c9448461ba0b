"""The same system behind an address, with the standard library alone.

python plain_server.py
ragbed run -m http/localhost:8900/ask -d ragbed-mini-en_base
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from plain_rag import answer


class Handler(BaseHTTPRequestHandler):
    """Answers POST with JSON: question, documents and lang come in, answer goes out."""

    def do_POST(self) -> None:
        """Answers one question."""
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"answer": answer(told["question"], told["documents"], told["lang"])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8900), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()

"""What others try on a server of ours: names that are not its own, paths that lead out, sites in the same browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product

import pytest

from tests.browser import EVIL_HOST


def hosts(port: int) -> list[str]:
    other = port - 1 if port > 1024 else port + 1
    return [
        *(EVIL_HOST, f"{EVIL_HOST}:{port}", f"127.0.0.1.{EVIL_HOST}:{port}", f"localhost.{EVIL_HOST}:{port}"),
        *("127.0.0.1", "localhost", f"127.0.0.1:{other}", f"localhost:{other}", "", ":", f":{port}"),
        *(f"127.0.0.2:{port}", f"127.1:{port}", f"2130706433:{port}", f"0x7f000001:{port}", f"0.0.0.0:{port}"),
        *(f"[::1]:{port}", f"[::ffff:127.0.0.1]:{port}", f"10.0.0.1:{port}", f"169.254.169.254:{port}"),
        *(f"127.0.0.1:{port}:{port}", f"127.0.0.1:{port}@{EVIL_HOST}", f"user@127.0.0.1:{port}", f"127.0.0.1:0{port}"),
        *(f"127.0.0.1:{port}/", f"127.0.0.1:{port},{EVIL_HOST}", f"LOCALHOST.:{port}", f"http://127.0.0.1:{port}"),
        *("*", "null"),
    ]


def traversals() -> list[str]:
    ups = ("../", "..\\", "....//", "..;/", ".%00./", "\u2025/")
    encoded = ("%2e%2e/", "..%2f", "%2e%2e%2f", "..%5c", "%252e%252e%252f", "%c0%ae%c0%ae/")
    targets = ("secret.txt", "run.sqlite", "etc/passwd", "secret.txt%00.js")
    return [f"{up * depth}{target}" for up, target, depth in product(ups + encoded, targets, (1, 2, 3, 8, 20))]


class _Elsewhere(BaseHTTPRequestHandler):
    """Another site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


ATTACK = """async ([origin, body, reading, changing]) => {
  const told = [];
  const attempt = async (path, options) => {
    try {
      const answer = await fetch(origin + path, {credentials: 'include', ...options});
      told.push(await answer.text());
    } catch (error) { told.push(''); }
  };
  const loaded = (node) => new Promise((done) => { node.onload = node.onerror = done; document.body.append(node); });
  await attempt(reading, {});
  await attempt(reading, {mode: 'no-cors'});
  await attempt('/api/enter', {});
  for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded'])
    for (const mode of ['cors', 'no-cors'])
      await attempt(changing, {method: 'POST', mode, headers: {'Content-Type': type}, body});
  const image = Object.assign(new Image(), {src: origin + '/static/icon.svg'});
  await loaded(image);
  told.push(image.naturalWidth ? 'open' : '');
  await loaded(Object.assign(document.createElement('script'), {src: origin + reading}));
  const socket = new WebSocket(origin.replace('http', 'ws') + reading);
  await new Promise((done) => { socket.onopen = () => done(told.push('open')); socket.onerror = done; });
  const frame = Object.assign(document.createElement('iframe'), {name: 'f'});
  await loaded(frame);
  const set = {method: 'POST', enctype: 'text/plain', action: origin + changing, target: 'f'};
  const form = Object.assign(document.createElement('form'), set);
  form.append(Object.assign(document.createElement('input'), {name: body}));
  document.body.append(form);
  await new Promise((done) => { frame.onload = done; form.submit(); setTimeout(done, 2000); });
  return told.join('');
}"""
"""All ways in which a page could reach another site without its leave."""

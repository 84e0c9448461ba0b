"""Who may see, and who may change, what a local server shows: a browser on this machine that has the token.

The printed address carries the token behind a `#`, so that it reaches no log and no other site; the page hands it in
once and gets a cookie. Everything under /api/ is protected. A GET needs the cookie and changes nothing. A POST also
needs a second token that only our own pages can read: to a browser, other ports of this machine are the same site and
get the cookie. Requests that a browser marks as sent by another origin are refused.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_BODY: Final = 65_536
"""Bytes of a request; a label has a few hundred."""
ENTER: Final = "/api/enter"
_NOBODY_ELSE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _NOBODY_ELSE,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Stands before an application.

    Args:
        app: What is protected.
        port: At which the server listens.
        token: Of the printed address.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"ragbed-{port}"  # cookies do not know ports
        self._write = hashlib.sha256(f"write {token}".encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers itself, or lets the application answer."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        answer = self._refuse(request)
        if answer is None and request.url.path == ENTER:
            answer = await self._enter(request)
        app = self._app if answer is None else answer
        await app(scope, receive, _adding_headers(send))

    def _refuse(self, request: Request) -> Response | None:
        """What is wrong with a request; None if nothing is."""
        if request.headers.getlist("host")[:2] not in [[host] for host in self._hosts]:
            return PlainTextResponse("This server answers to its own name only.\n", 421)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("GET or POST.\n", 405)
        if request.method == "POST" and (problem := self._refuse_post(request)):
            return problem
        return self._refuse_api(request) if request.url.path.startswith("/api/") else None

    def _refuse_api(self, request: Request) -> Response | None:
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("Only pages of this server may read this.\n", 403)
        if request.url.path != ENTER and not self._has_cookie(request):
            return PlainTextResponse("Open the address that was printed when the server was started.\n", 403)
        return None

    def _refuse_post(self, request: Request) -> Response | None:
        host = request.headers["host"]
        if request.headers.get("origin", f"http://{host}") != f"http://{host}":
            return PlainTextResponse("Only pages of this server may change anything.\n", 403)
        if request.headers.get("content-type") != "application/json":
            return PlainTextResponse("Send application/json.\n", 415)
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            return PlainTextResponse(f"Say how long it is; at most {LONGEST_BODY} bytes.\n", 413)
        if request.url.path != ENTER and not _same(request.headers.get("x-ragbed-write", ""), self._write):
            return PlainTextResponse("The token to change something is missing or wrong.\n", 403)
        return None

    async def _enter(self, request: Request) -> Response:
        """The cookie for the token; who has the cookie already is told the token to change something."""
        if request.method == "POST":
            given = (await request.body()).decode("utf-8", "replace").strip('"')
            if not _same(given, self._token):
                return PlainTextResponse("The token is wrong.\n", 403)
        elif not self._has_cookie(request):
            return PlainTextResponse("Open the address that was printed when the server was started.\n", 403)
        answer = JSONResponse({"write": self._write})
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _has_cookie(self, request: Request) -> bool:
        return _same(request.cookies.get(self._cookie, ""), self._token)


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


def _adding_headers(send: Send) -> Send:
    extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return add

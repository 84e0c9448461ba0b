"""The parts that the viewer's and the review's web applications share: access control, static files and JSON routes.

Only browsers that run on this machine and have the token are served. The printed URL has the token after a `#`, so it
never reaches a log or another site. The page sends the token once and gets a cookie. All paths under /api/ are
protected. A GET needs the cookie and changes nothing. A POST also needs a second token that only our own pages can
read, because browsers send the cookie to all ports of this machine. Requests that a browser marks as coming from
another origin are rejected.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragbed.errors import RagbedError, UsageError
from ragbed.text import storable_name

LONGEST_BODY: Final = 65_536  # Maximum size of a request body in bytes; a label takes a few hundred bytes.
ENTER: Final = "/api/enter"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_EXTRA_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_OPEN_PRINTED_URL = "Open the URL that was printed when the server started.\n"


class Guard:
    """ASGI middleware that checks each request before the application handles it.

    Args:
        app: Application to protect.
        port: The server's port.
        token: Token in the printed URL.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"ragbed-{port}"  # Cookies are shared by all ports of a host, so the name includes the port.
        self._write = hashlib.sha256(f"write {token}".encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it on to the application."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        response = self._refuse(request)
        if response is None and request.url.path == ENTER:
            response = await self._enter(request)
        app = self._app if response is None else response

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_EXTRA_HEADERS]
            await send(message)

        await app(scope, receive, send_with_headers)

    def _refuse(self, request: Request) -> Response | None:
        """Return the response that rejects a request, or None if the request is allowed."""
        if request.headers.getlist("host")[:2] not in [[host] for host in self._hosts]:
            return PlainTextResponse("This server only accepts requests to its own host name.\n", 421)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST are allowed.\n", 405)
        if request.method == "POST" and (refusal := self._refuse_post(request)):
            return refusal
        return self._refuse_api(request) if request.url.path.startswith("/api/") else None

    def _refuse_api(self, request: Request) -> Response | None:
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("Only pages from this server may read this resource.\n", 403)
        if request.url.path != ENTER and not self._has_cookie(request):
            return PlainTextResponse(_OPEN_PRINTED_URL, 403)
        return None

    def _refuse_post(self, request: Request) -> Response | None:
        host = request.headers["host"]
        if request.headers.get("origin", f"http://{host}") != f"http://{host}":
            return PlainTextResponse("Only pages from this server may change data.\n", 403)
        if request.headers.get("content-type") != "application/json":
            return PlainTextResponse("The content type must be application/json.\n", 415)
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            return PlainTextResponse(
                f"The Content-Length header is required and must be at most {LONGEST_BODY} bytes.\n", 413
            )
        if request.url.path != ENTER and not _is_same(request.headers.get("x-ragbed-write", ""), self._write):
            return PlainTextResponse("The write token is missing or invalid.\n", 403)
        return None

    async def _enter(self, request: Request) -> Response:
        """Exchange the token for a cookie, and return the write token."""
        if request.method == "POST":
            if not _is_same((await request.body()).decode("utf-8", "replace").strip('"'), self._token):
                return PlainTextResponse("The token is invalid.\n", 403)
        elif not self._has_cookie(request):
            return PlainTextResponse(_OPEN_PRINTED_URL, 403)
        response = JSONResponse({"write": self._write})
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return response

    def _has_cookie(self, request: Request) -> bool:
        return _is_same(request.cookies.get(self._cookie, ""), self._token)


def _is_same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


Handler: TypeAlias = Callable[[Request], Awaitable[object]]
_TYPES = {"css": "text/css", "js": "text/javascript", "html": "text/html", "svg": "image/svg+xml"}
_MOST_DIGITS = 9


def file_routes(package: str) -> list[Route]:
    """Return routes for the shared static files and for a package's own files.

    The files are listed once at startup, so that no path is ever built from browser input.
    """
    folders = (files("ragbed.reporting.pages") / "static", files(package) / "static")
    found = {entry.name: entry.read_bytes() for folder in folders for entry in folder.iterdir() if entry.is_file()}
    served = {f"/static/{name}": content for name, content in found.items() if not name.endswith(".html")}
    served["/"] = found["index.html"]
    return [Route(path, _file_endpoint(path, content)) for path, content in served.items()]


def json_routes(reading: dict[str, Handler], changing: dict[str, Handler]) -> list[Route]:
    """Return GET routes for handlers that read data, and POST routes for handlers that change it."""
    routes = [Route(path, _json_endpoint(handler)) for path, handler in reading.items()]
    return routes + [Route(path, _json_endpoint(handler), methods=["POST"]) for path, handler in changing.items()]


def read_number(given: QueryParams, name: str) -> int:
    """Parse a query parameter as an integer; return 0 if the parameter is missing."""
    text = given.get(name, "0")
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise UsageError(f"{name}={text!r} is not valid. Use a number with at most {_MOST_DIGITS} digits.")
    return int(text)


def _file_endpoint(path: str, content: bytes) -> Callable[[Request], Awaitable[Response]]:
    media_type = _TYPES[path.rpartition(".")[2] if "." in path else "html"]

    async def respond(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return respond


def _json_endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a handler as a JSON endpoint; errors have the same text as on the command line."""

    async def respond(request: Request) -> Response:
        try:
            found = await handler(request)
            content = found if isinstance(found, bytes) else msgspec.json.encode(found)
            return Response(content, media_type="application/json")
        except RagbedError as error:
            return PlainTextResponse(storable_name(str(error)), 400 if isinstance(error, UsageError) else 500)

    return respond

"""Routes shared by the viewer and the review page: static files, JSON responses and errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TypeAlias

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ragbed.errors import RagbedError, UsageError
from ragbed.text import storable_name

Handler: TypeAlias = Callable[[Request], Awaitable[bytes]]
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
            return Response(await handler(request), media_type="application/json")
        except RagbedError as error:
            return PlainTextResponse(storable_name(str(error)), 400 if isinstance(error, UsageError) else 500)

    return respond

"""What the applications behind our pages share: their files, and how an answer or an error is sent."""

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
    """The kit's files and those of a package's `static` folder, whose `own.css` and `main.js` the kit's page asks for.

    Files are looked up among those there are; no path is ever made of what a browser sends.
    """
    folders = (files("ragbed.reporting.pages") / "static", files(package) / "static")
    found = {entry.name: entry.read_bytes() for folder in folders for entry in folder.iterdir() if entry.is_file()}
    served = {f"/static/{name}": content for name, content in found.items() if not name.endswith(".html")}
    served["/"] = found["index.html"]
    return [Route(path, _as_file(path, content)) for path, content in served.items()]


def json_routes(reading: dict[str, Handler], changing: dict[str, Handler]) -> list[Route]:
    """What pages ask for, by GET, and what they change, by POST."""
    routes = [Route(path, _as_json(handler)) for path, handler in reading.items()]
    return routes + [Route(path, _as_json(handler), methods=["POST"]) for path, handler in changing.items()]


def read_number(given: QueryParams, name: str) -> int:
    """Return a query parameter that is a whole number; 0 if it is not given."""
    told = given.get(name, "0")
    if not told.isdecimal() or len(told) > _MOST_DIGITS:
        raise UsageError(f"{name}={told!r} is not a whole number of at most {_MOST_DIGITS} digits.")
    return int(told)


def _as_file(path: str, content: bytes) -> Callable[[Request], Awaitable[Response]]:
    kind = _TYPES[path.rpartition(".")[2] if "." in path else "html"]

    async def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


def _as_json(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """What goes wrong is told in the words that the command line would use."""

    async def answer(request: Request) -> Response:
        try:
            return Response(await handler(request), media_type="application/json")
        except UsageError as error:
            return PlainTextResponse(storable_name(str(error)), 400)
        except RagbedError as error:
            return PlainTextResponse(storable_name(str(error)), 500)

    return answer

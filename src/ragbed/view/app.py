"""The viewer as a web application: pages and their scripts, and what they ask for as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request

from ragbed.errors import UsageError
from ragbed.metrics.sheet import TRACKS
from ragbed.pages.serving import Handler, file_routes, json_routes, read_number
from ragbed.view.book import Progress
from ragbed.view.casepage import MOST_BYTES, Call, find_trial, make_page
from ragbed.view.cells import FACETS, Wanted
from ragbed.view.labelling import put_label
from ragbed.view.library import Asked, Library
from ragbed.view.shelf import Shelf

_LABEL_STATES = ("", "wanted", "done")
_Repeat = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
"""SQLite takes no integer of more than 64 bits."""


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A label as a page sends it."""

    run: str
    case: str
    model: str
    repeat: _Repeat
    criterion: str
    label: bool | None


def make_app(shelf: Shelf, rater: str) -> Starlette:
    """The application over open runs.

    Args:
        shelf: The runs.
        rater: Whose labels those are that are given here.
    """
    library = Library(shelf.books)
    reading: dict[str, Handler] = {
        "/api/overview": lambda request: _overview(shelf, library, rater, request),
        "/api/progress": lambda _: _progress(shelf),
        "/api/trials": lambda request: _trials(library, request),
        "/api/case": lambda request: _case(library, rater, request),
    }
    changing: dict[str, Handler] = {"/api/label": lambda request: _label(library, rater, request)}
    return Starlette(routes=json_routes(reading, changing) + file_routes("ragbed.view"))


async def _overview(shelf: Shelf, library: Library, rater: str, request: Request) -> bytes:
    track = request.query_params.get("track", "robust")
    if track not in TRACKS:
        raise UsageError(f"no such track: {track!r}.")
    shelf.look()
    rows, count = library.overview(track)
    told = {"track": track, "count": count, "rater": rater, "runs": _runs(shelf), "names": library.names()}
    encoded = msgspec.json.encode(told | {"rows": rows})
    while len(encoded) > MOST_BYTES and rows:
        rows = rows[: len(rows) // 2]
        encoded = msgspec.json.encode(told | {"rows": rows})
    return encoded


async def _progress(shelf: Shelf) -> bytes:
    shelf.look()
    return msgspec.json.encode({"runs": _runs(shelf)})


def _runs(shelf: Shelf) -> list[dict[str, object]]:
    shown = [{"name": book.name, **book.progress()._asdict()} for book in shelf.books.values()]
    unread = Progress(results=0, indexed=0, process=None, problem=None)._asdict()
    return shown + [{"name": name, **unread, "problem": problem} for name, problem in shelf.problems.items()]


async def _trials(library: Library, request: Request) -> bytes:
    given = request.query_params
    if given.get("label", "") not in _LABEL_STATES:
        raise UsageError(f"label={given['label']!r} is neither wanted nor done.")
    asked = Asked(
        runs=frozenset(given.getlist("run")),
        wanted=Wanted({name: frozenset(given.getlist(name)) for name in FACETS if name in given}),
        query=given.get("q", "")[:1_000],
        label=given.get("label", ""),
    )
    return msgspec.json.encode(library.list_trials(asked, read_number(given, "offset")))


async def _case(library: Library, rater: str, request: Request) -> bytes:
    given = request.query_params
    call = Call(given.get("run", ""), given.get("case", ""), given.get("model", ""), read_number(given, "repeat"))
    beside = []
    for told in given.getlist("with"):
        try:
            run, model, repeat = msgspec.json.decode(told, type=tuple[str, str, _Repeat])
        except msgspec.MsgspecError:
            raise UsageError(f"with={told!r} does not name a response: give [run, model, repeat].") from None
        beside.append(Call(run, call.case, model, repeat))
    return make_page(library, call, beside, rater)


async def _label(library: Library, rater: str, request: Request) -> bytes:
    try:
        said = msgspec.json.decode(await request.body(), type=Said)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"the request is not a label: {error}.") from None
    book, stored = find_trial(library, Call(said.run, said.case, said.model, said.repeat))
    put_label(book.folder, stored, said.criterion, said.label, rater)
    return b"{}"

"""The viewer as a web application: pages and their scripts, and what they ask for as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request

from ragbed.analysis.metrics.trial_columns import TRACKS
from ragbed.errors import UsageError
from ragbed.ui.http_app import Handler, file_routes, json_routes, read_number
from ragbed.ui.viewer.case_page import MOST_BYTES, ShownCall, find_trial, make_page
from ragbed.ui.viewer.cells import FACETS, CellFilter
from ragbed.ui.viewer.labelling import put_label
from ragbed.ui.viewer.open_runs import OpenRuns
from ragbed.ui.viewer.queries import RunQueries, TrialQuery
from ragbed.ui.viewer.run_reader import RunReadProgress

_LABEL_STATES = ("", "wanted", "done")
_Repeat = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
"""SQLite takes no integer of more than 64 bits."""


class LabelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A label as a page sends it."""

    run: str
    case: str
    model: str
    repeat: _Repeat
    criterion: str
    label: bool | None


def make_app(shelf: OpenRuns, rater: str) -> Starlette:
    """The application over open runs.

    Args:
        shelf: The runs.
        rater: Whose labels those are that are given here.
    """
    library = RunQueries(shelf.books)
    reading: dict[str, Handler] = {
        "/api/overview": lambda request: _overview(shelf, library, rater, request),
        "/api/progress": lambda _: _progress(shelf),
        "/api/trials": lambda request: _trials(library, request),
        "/api/case": lambda request: _case(library, rater, request),
    }
    changing: dict[str, Handler] = {"/api/label": lambda request: _label(library, rater, request)}
    return Starlette(routes=json_routes(reading, changing) + file_routes("ragbed.ui.viewer"))


async def _overview(shelf: OpenRuns, library: RunQueries, rater: str, request: Request) -> bytes:
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


async def _progress(shelf: OpenRuns) -> bytes:
    shelf.look()
    return msgspec.json.encode({"runs": _runs(shelf)})


def _runs(shelf: OpenRuns) -> list[dict[str, object]]:
    shown = [{"name": book.name, **book.progress()._asdict()} for book in shelf.books.values()]
    unread = RunReadProgress(results=0, indexed=0, process=None, problem=None)._asdict()
    return shown + [{"name": name, **unread, "problem": problem} for name, problem in shelf.problems.items()]


async def _trials(library: RunQueries, request: Request) -> bytes:
    given = request.query_params
    if given.get("label", "") not in _LABEL_STATES:
        raise UsageError(f"label={given['label']!r} is neither wanted nor done.")
    asked = TrialQuery(
        runs=frozenset(given.getlist("run")),
        wanted=CellFilter({name: frozenset(given.getlist(name)) for name in FACETS if name in given}),
        query=given.get("q", "")[:1_000],
        label=given.get("label", ""),
    )
    return msgspec.json.encode(library.list_trials(asked, read_number(given, "offset")))


async def _case(library: RunQueries, rater: str, request: Request) -> bytes:
    given = request.query_params
    call = ShownCall(given.get("run", ""), given.get("case", ""), given.get("model", ""), read_number(given, "repeat"))
    beside = []
    for told in given.getlist("with"):
        try:
            run, model, repeat = msgspec.json.decode(told, type=tuple[str, str, _Repeat])
        except msgspec.MsgspecError:
            raise UsageError(f"with={told!r} does not name a response: give [run, model, repeat].") from None
        beside.append(ShownCall(run, call.case, model, repeat))
    return make_page(library, call, beside, rater)


async def _label(library: RunQueries, rater: str, request: Request) -> bytes:
    try:
        said = msgspec.json.decode(await request.body(), type=LabelRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"the request is not a label: {error}.") from None
    book, stored = find_trial(library, ShownCall(said.run, said.case, said.model, said.repeat))
    put_label(book.folder, stored, said.criterion, said.label, rater)
    return b"{}"

"""The review as a web application: pages and their scripts, and what they ask for as JSON."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request

from ragbed.errors import MALFORMED_JSON, UsageError
from ragbed.ui.http_app import Handler, file_routes, json_routes, read_number
from ragbed.ui.review.figures import concord, tally
from ragbed.ui.review.fixing import doubt_fixes
from ragbed.ui.review.item_page import make_item_page, next_open, seen_state
from ragbed.ui.review.provenance import Provenance
from ragbed.ui.review.records import PointDecision
from ragbed.ui.review.session import ReviewSession

PAGE = 50
SHOWN: dict[str, frozenset[str]] = {
    "all": frozenset({"open", "begun", "waiting", "disagreed", "accepted", "fixed", "rejected"}),
    "todo": frozenset({"open", "begun"}),
    "done": frozenset({"waiting", "disagreed", "accepted", "fixed", "rejected"}),
    "disagreed": frozenset({"disagreed"}),
    "accepted": frozenset({"accepted"}),
    "fixed": frozenset({"fixed"}),
    "rejected": frozenset({"rejected"}),
}
"""What a list can be narrowed down to, and the states that it then shows."""
_Told = TypeVar("_Told", bound=Struct)


class _Seat(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who speaks, and from which window."""

    rater: str
    window: str


class _Decision(_Seat, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A decision as a page sends it."""

    item: str
    said: tuple[PointDecision, ...]
    final: bool = False


def make_app(desk: ReviewSession, provenance: Provenance) -> Starlette:
    """The application over one review."""
    reading: dict[str, Handler] = {
        "/api/standing": lambda request: _standing(desk, request),
        "/api/items": lambda request: _items(desk, request),
        "/api/item": lambda request: _item(desk, provenance, request),
    }
    changing: dict[str, Handler] = {
        "/api/sit": lambda request: _sit(desk, request),
        "/api/decide": lambda request: _decide(desk, request),
        "/api/undo": lambda request: _undo(desk, request),
    }
    return Starlette(routes=json_routes(reading, changing) + file_routes("ragbed.ui.review"))


async def _standing(desk: ReviewSession, request: Request) -> bytes:
    rater = _seated(desk, request)
    told = {
        "begun": desk.standing.begun,
        "raters": desk.standing.raters,
        "stale": len(desk.standing.stale),
        "tallies": tally(desk.standing),
        "concord": concord(desk.standing) if request.query_params.get("concord") == "1" else [],
        "next": next_open(desk, rater),
    }
    return msgspec.json.encode(told)


async def _items(desk: ReviewSession, request: Request) -> bytes:
    """A page of the list, in the order in which items are looked at."""
    rater = _seated(desk, request)
    given = request.query_params
    show, data, offset = given.get("show", "all"), given.get("data", ""), read_number(given, "offset")
    if show not in SHOWN:
        raise UsageError(f"show={show!r}: there are {', '.join(SHOWN)}.")
    words = given.get("q", "").casefold()
    rows = []
    for place, key in enumerate(desk.order):
        entry = desk.docket.entries[key]
        fits = data in ("", entry.data) and words in f"{key} {entry.question}".casefold()
        if fits and (entry.flags or not given.get("flagged")):
            state = seen_state(desk, key, rater)
            if state in SHOWN[show]:
                rows.append((place, entry, state))
    shown = [
        {"at": place, "item": entry.key, "data": entry.data, "lang": entry.lang, "question": entry.question,
         "state": state, "flags": [flag.rule for flag in entry.flags]}
        for place, entry, state in rows[offset : offset + PAGE]
    ]  # fmt: skip
    return msgspec.json.encode({"total": len(rows), "offset": offset, "rows": shown, "data": list(desk.docket.data)})


async def _item(desk: ReviewSession, provenance: Provenance, request: Request) -> bytes:
    rater = _seated(desk, request)
    return msgspec.json.encode(make_item_page(desk, provenance, request.query_params.get("item", ""), rater))


async def _sit(desk: ReviewSession, request: Request) -> bytes:
    seat = await _told(request, _Seat)
    desk.seats.take(seat.rater, seat.window)
    return msgspec.json.encode({"next": next_open(desk, seat.rater)})


async def _decide(desk: ReviewSession, request: Request) -> bytes:
    told = await _told(request, _Decision)
    desk.seats.take(told.rater, told.window)
    desk.decide(told.rater, told.item, told.said, final=told.final)
    return msgspec.json.encode({"doubts": _doubts(desk, told)})


def _doubts(desk: ReviewSession, told: _Decision) -> list[str]:
    """About a fix, together with what was said before: a text is fixed to give the false answer as it was fixed."""
    if not any(one.verdict == "fix" for one in told.said):
        return []
    standing = desk.standing.of(told.item)
    sheet = standing.settled if told.final else standing.sheets[told.rater]
    return doubt_fixes(desk.docket.read(told.item), sheet.values())


async def _undo(desk: ReviewSession, request: Request) -> bytes:
    seat = await _told(request, _Seat)
    desk.seats.take(seat.rater, seat.window)
    return msgspec.json.encode({"item": desk.undo(seat.rater)})


def _seated(desk: ReviewSession, request: Request) -> str:
    """Return the name of the rater who reads; only a POST takes a seat."""
    rater, window = (request.query_params.get(name, "") for name in ("rater", "window"))
    desk.seats.check(rater, window)
    return rater


async def _told(request: Request, kind: type[_Told]) -> _Told:
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except MALFORMED_JSON as error:
        raise UsageError(f"that is not understood: {error}.") from None

"""The web application for reviews."""

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
# The list filters, and the item states that each filter shows.
SHOWN: dict[str, frozenset[str]] = {
    "all": frozenset({"open", "begun", "waiting", "disagreed", "accepted", "fixed", "rejected"}),
    "todo": frozenset({"open", "begun"}),
    "done": frozenset({"waiting", "disagreed", "accepted", "fixed", "rejected"}),
    "disagreed": frozenset({"disagreed"}),
    "accepted": frozenset({"accepted"}),
    "fixed": frozenset({"fixed"}),
    "rejected": frozenset({"rejected"}),
}
_Body = TypeVar("_Body", bound=Struct)


class _Seat(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rater's name and the browser window that uses it."""

    rater: str
    window: str


class _Decision(_Seat, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A decision submitted from a page."""

    item: str
    said: tuple[PointDecision, ...]
    final: bool = False


def make_app(session: ReviewSession, provenance: Provenance) -> Starlette:
    """Create the web application for a review."""
    reading: dict[str, Handler] = {
        "/api/standing": lambda request: _standing(session, request),
        "/api/items": lambda request: _items(session, request),
        "/api/item": lambda request: _item(session, provenance, request),
    }
    changing: dict[str, Handler] = {
        "/api/sit": lambda request: _sit(session, request),
        "/api/decide": lambda request: _decide(session, request),
        "/api/undo": lambda request: _undo(session, request),
    }
    return Starlette(routes=json_routes(reading, changing) + file_routes("ragbed.ui.review"))


async def _standing(session: ReviewSession, request: Request) -> bytes:
    rater, state = _check_seat(session, request), session.state
    shown = {
        "begun": state.settings,
        "raters": state.raters,
        "stale": len(state.stale),
        "tallies": tally(state),
        "concord": concord(state) if request.query_params.get("concord") == "1" else [],
        "next": next_open(session, rater),
    }
    return msgspec.json.encode(shown)


async def _items(session: ReviewSession, request: Request) -> bytes:
    rater, given = _check_seat(session, request), request.query_params
    show, data, offset = given.get("show", "all"), given.get("data", ""), read_number(given, "offset")
    if show not in SHOWN:
        raise UsageError(f"show={show!r} is not valid. Use one of {', '.join(SHOWN)}.")
    words = given.get("q", "").casefold()
    rows = []
    for place, key in enumerate(session.order):
        entry = session.queue.entries[key]
        fits = data in ("", entry.data) and words in f"{key} {entry.question}".casefold()
        if fits and (entry.flags or not given.get("flagged")):
            state = seen_state(session, key, rater)
            if state in SHOWN[show]:
                rows.append((place, entry, state))
    offset = min(offset, max(0, len(rows) - 1) // PAGE * PAGE)  # A decision can make the list shorter.
    shown = [
        {"at": place, "item": entry.key, "data": entry.data, "lang": entry.lang, "question": entry.question,
         "state": state, "flags": [flag.rule for flag in entry.flags]}
        for place, entry, state in rows[offset : offset + PAGE]
    ]  # fmt: skip
    return msgspec.json.encode({"total": len(rows), "offset": offset, "rows": shown, "data": list(session.queue.data)})


async def _item(session: ReviewSession, provenance: Provenance, request: Request) -> bytes:
    rater = _check_seat(session, request)
    return msgspec.json.encode(make_item_page(session, provenance, request.query_params.get("item", ""), rater))


async def _sit(session: ReviewSession, request: Request) -> bytes:
    seat = await _read_body(request, _Seat)
    session.seats.take(seat.rater, seat.window)
    return msgspec.json.encode({"next": next_open(session, seat.rater)})


async def _decide(session: ReviewSession, request: Request) -> bytes:
    sent = await _read_body(request, _Decision)
    session.seats.take(sent.rater, sent.window)
    session.decide(sent.rater, sent.item, sent.said, final=sent.final)
    doubts: list[str] = []
    if any(one.verdict == "fix" for one in sent.said):
        # Include earlier decisions, so that a passage is checked against the corrected false answer.
        item = session.state.of(sent.item)
        sheet = item.settled if sent.final else item.sheets[sent.rater]
        doubts = doubt_fixes(session.queue.read(sent.item), sheet.values())
    return msgspec.json.encode({"doubts": doubts})


async def _undo(session: ReviewSession, request: Request) -> bytes:
    seat = await _read_body(request, _Seat)
    session.seats.take(seat.rater, seat.window)
    return msgspec.json.encode({"item": session.undo(seat.rater)})


def _check_seat(session: ReviewSession, request: Request) -> str:
    """Check that the browser window may use the rater's name, and return the name without reserving it."""
    rater, window = (request.query_params.get(name, "") for name in ("rater", "window"))
    session.seats.check(rater, window)
    return rater


async def _read_body(request: Request, kind: type[_Body]) -> _Body:
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except MALFORMED_JSON as error:
        raise UsageError(f"the request is not valid: {error}.") from None

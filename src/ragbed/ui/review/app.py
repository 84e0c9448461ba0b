"""The web application for reviews."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request

from ragbed.errors import MALFORMED_JSON, UsageError
from ragbed.ui.http_app import Handler, file_routes, json_routes, read_number
from ragbed.ui.review.apply import doubt_fixes
from ragbed.ui.review.item_page import Provenance, make_item_page
from ragbed.ui.review.log import PointDecision
from ragbed.ui.review.session import ReviewSession
from ragbed.ui.review.state import DECIDED, tally

PAGE = 50
# The list filters, and the item states that each filter shows.
SHOWN: dict[str, frozenset[str]] = {
    "all": frozenset({"open", "begun", *DECIDED}),
    "todo": frozenset({"open", "begun"}),
    "done": DECIDED,
    "accepted": frozenset({"accepted"}),
    "fixed": frozenset({"fixed"}),
    "rejected": frozenset({"rejected"}),
}


class _Decision(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A decision submitted from a page."""

    item: str
    said: tuple[PointDecision, ...]


def make_app(session: ReviewSession, provenance: Provenance) -> Starlette:
    """Create the web application for a review."""
    reading: dict[str, Handler] = {
        "/api/standing": lambda _: _standing(session),
        "/api/items": lambda request: _items(session, request),
        "/api/item": lambda request: _item(session, provenance, request),
    }
    changing: dict[str, Handler] = {
        "/api/decide": lambda request: _decide(session, request),
        "/api/undo": lambda _: _undo(session),
    }
    return Starlette(routes=json_routes(reading, changing) + file_routes("ragbed.ui.review"))


async def _standing(session: ReviewSession) -> bytes:
    state = session.state
    shown = {
        "begun": state.settings,
        "stale": len(state.stale),
        "tallies": tally(state),
        "next": session.next_open(),
    }
    return msgspec.json.encode(shown)


async def _items(session: ReviewSession, request: Request) -> bytes:
    given = request.query_params
    show, data, offset = given.get("show", "all"), given.get("data", ""), read_number(given, "offset")
    if show not in SHOWN:
        raise UsageError(f"show={show!r} is not valid. Use one of {', '.join(SHOWN)}.")
    words = given.get("q", "").casefold()
    rows = []
    for place, key in enumerate(session.order):
        entry = session.queue.entries[key]
        fits = data in ("", entry.data) and words in f"{key} {entry.question}".casefold()
        if fits and (entry.flags or not given.get("flagged")):
            state = session.state.of(key).state
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
    return msgspec.json.encode(make_item_page(session, provenance, request.query_params.get("item", "")))


async def _decide(session: ReviewSession, request: Request) -> bytes:
    try:
        sent = msgspec.json.decode(await request.body(), type=_Decision)
    except MALFORMED_JSON as error:
        raise UsageError(f"the request is not valid: {error}.") from None
    session.decide(sent.item, sent.said)
    doubts: list[str] = []
    if any(one.verdict == "fix" for one in sent.said):
        # Include earlier decisions, so that a passage is checked against the corrected false answer.
        doubts = doubt_fixes(session.queue.read(sent.item), session.state.of(sent.item).sheet.values())
    return msgspec.json.encode({"doubts": doubts})


async def _undo(session: ReviewSession) -> bytes:
    return msgspec.json.encode({"item": session.undo()})

"""The web application for reviews."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request

from ragbed.errors import MALFORMED_JSON, UsageError
from ragbed.ui.http_app import Handler, file_routes, json_routes, read_number
from ragbed.ui.review.item_page import Origin, make_item_page
from ragbed.ui.review.items import DECIDED
from ragbed.ui.review.log import PointDecision
from ragbed.ui.review.session import ReviewSession, tally

PAGE = 50


class _Decision(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A decision submitted from a page."""

    item: str
    said: tuple[PointDecision, ...]


def make_app(session: ReviewSession, origins: Mapping[str, Origin]) -> Starlette:
    """Create the web application for a review."""

    async def show_standing(_: Request) -> object:
        return {
            "settings": {"rater": session.rater, "target": session.target},
            "stale": len(session.stale),
            "tallies": tally(session),
            "next": session.next_open(),
        }

    async def show_items(request: Request) -> object:
        given = request.query_params
        show, data, offset = given.get("show", "all"), given.get("data", ""), read_number(given, "offset")
        words = given.get("q", "").casefold()
        fitting = [
            one
            for key, one in session.items.items()
            if data in ("", one.data)
            and words in f"{key} {one.item.question}".casefold()
            and (one.flags or not given.get("flagged"))
            and (show in ("all", one.state) or (show == "todo" and one.state not in DECIDED))
        ]
        offset = min(offset, max(0, len(fitting) - 1) // PAGE * PAGE)  # A decision can make the list shorter.
        rows = [
            {"item": one.key, "lang": one.item.lang, "question": one.item.question, "state": one.state,
             "flags": [flag.rule for flag in one.flags]}
            for one in fitting[offset : offset + PAGE]
        ]  # fmt: skip
        names = sorted({one.data for one in session.items.values()})
        return {"total": len(fitting), "offset": offset, "rows": rows, "data": names}

    async def show_item(request: Request) -> object:
        return make_item_page(session, origins, request.query_params.get("item", ""))

    async def decide(request: Request) -> object:
        try:
            sent = msgspec.json.decode(await request.body(), type=_Decision)
        except MALFORMED_JSON as error:
            raise UsageError(f"the request is not valid: {error}.") from None
        session.decide(sent.item, sent.said)
        return {}

    async def undo(_: Request) -> object:
        return {"item": session.undo()}

    reading: dict[str, Handler] = {"/api/standing": show_standing, "/api/items": show_items, "/api/item": show_item}
    changing: dict[str, Handler] = {"/api/decide": decide, "/api/undo": undo}
    return Starlette(routes=json_routes(reading, changing) + file_routes("ragbed.ui.review"))

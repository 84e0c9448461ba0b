"""The page for one item: its content and origin, and its review points with their decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.builder.statements import find_answer, label_again, spans_of
from ragbed.data import kind_of
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.reporting.case_view import TextSpan
from ragbed.schema import Item, Passage
from ragbed.ui.review.items import points_of
from ragbed.ui.review.session import ReviewSession


class Origin(Struct, frozen=True):
    """An article, without its text."""

    id: str
    url: str
    title: str
    date: str | None = None
    licence: str | None = None


def read_origins(folder: Path) -> dict[str, Origin]:
    """Return the articles of a build, by ID. Other folders have none."""
    path = folder / "steps" / "articles.jsonl"
    origins = {}
    for number, line in read_lines(path) if path.exists() else ():
        try:
            origin = msgspec.json.decode(line, type=Origin)
        except MALFORMED_JSON as error:
            raise DataError(path, f"{error}; fix the file, or move it to another folder", line=number) from error
        origins[origin.id] = origin
    return origins


def make_item_page(session: ReviewSession, origins: Mapping[str, Origin], key: str) -> dict[str, object]:
    """Return the data of an item that `static/item.js` shows.

    `at` is the item's position in the review order, counted from 0, and `next_open` is the next item to decide.
    """
    reviewed = session.item(key)
    item, order = reviewed.item, list(session.items)
    at = order.index(key)
    return {
        "key": key,
        "data": reviewed.data,
        "kind": kind_of(item),
        "item": item,
        "origin": origins.get(item.article or ""),
        "passages": [
            {"passage": passage, "label": label_again(item, passage), "spans": list(_mark(item, passage))}
            for passage in item.passages
        ],
        "points": points_of(item),
        "sheet": reviewed.sheet,
        "flags": reviewed.flags,
        "state": reviewed.state,
        "at": at,
        "total": len(order),
        "before": order[at - 1] if at else None,
        "after": order[at + 1] if at + 1 < len(order) else None,
        "next_open": session.next_open(at + 1),
    }


def _mark(item: Item, passage: Passage) -> Iterator[TextSpan]:
    """Yield the spans to highlight: true answers, false answers in edited passages, and the supporting sentence."""
    for found in find_answer(item, passage.text):
        yield from (TextSpan(one.start, one.end, "gold") for one in found)
    if passage.edit_of is not None:
        false = passage.edits or (spans_of(item, item.fake, passage.text) if item.fake else ())
        yield from (TextSpan(start, end, "fake") for start, end in false)
    elif passage.support is not None:
        yield TextSpan(*passage.support, "cue")

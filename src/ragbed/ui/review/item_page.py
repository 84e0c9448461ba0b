"""The page for one item: its content and origin, and its review points with their decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ragbed.builder.build_context import Draft
from ragbed.builder.statements import find_answer, label_again, spans_of
from ragbed.data import kind_of
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.reporting.case_view import TextSpan
from ragbed.schema import Hit, Item, Passage
from ragbed.ui.review.items import points_of
from ragbed.ui.review.session import ReviewSession

_Made = TypeVar("_Made", bound=Struct)


class Origin(Struct, frozen=True):
    """An article, without its text."""

    id: str
    url: str
    title: str
    date: str | None = None
    licence: str | None = None


class Provenance:
    """The origins of the items in a folder. Only build folders record origins.

    Args:
        folder: The data folder.
    """

    def __init__(self, folder: Path) -> None:
        steps = folder / "steps"
        self._origins = {one.id: one for one in _read(steps / "articles.jsonl", Origin)}
        self._drafts = {draft.question: draft.id for draft in _read(steps / "questions.jsonl", Draft)}
        self._hits: dict[str, list[Hit]] = {}
        for hit in _read(steps / "hits.jsonl", Hit):
            self._hits.setdefault(hit.question, []).append(hit)

    def origin(self, item: Item) -> Origin | None:
        """Return the article from which an item's question was made."""
        return self._origins.get(item.article or "")

    def hits(self, item: Item) -> list[Hit] | None:
        """Return the search results for an item's question or sub-questions, or None if there was no search."""
        drafts = [self._drafts[text] for text in item.sub_questions or (item.question,) if text in self._drafts]
        return [hit for draft in drafts for hit in self._hits.get(draft, ())] if drafts else None


def _read(path: Path, kind: type[_Made]) -> Iterator[_Made]:
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    for number, line in read_lines(path):
        try:
            yield decoder.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(path, f"{error}; fix the file, or move it to another folder", line=number) from error


def make_item_page(session: ReviewSession, provenance: Provenance, key: str) -> dict[str, object]:
    """Return what `static/item.js` shows of an item.

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
        "origin": provenance.origin(item),
        "hits": provenance.hits(item),
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

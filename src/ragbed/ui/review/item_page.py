"""The page for one item: its content and origin, and its review points with their decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ragbed.builder.build_context import Draft
from ragbed.builder.statements import find_answer, label_again, spans_of
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.schema import Answer, Hit, Item, Kind, Labelling, Lang, Passage
from ragbed.ui.review.log import PointDecision
from ragbed.ui.review.points import is_edit, points_of
from ragbed.ui.review.queue import Flag
from ragbed.ui.review.session import ReviewSession
from ragbed.ui.review.state import State

_Made = TypeVar("_Made", bound=Struct)


class Origin(Struct, frozen=True):
    """An article, without its text."""

    id: str
    url: str
    title: str
    sha256: str
    date: str | None = None
    licence: str | None = None


class _Hashes(Struct, frozen=True):
    """The required fields of a build's lock file; decoding all fields would require importing the entire builder."""

    sources: dict[str, str]
    pages: dict[str, str]


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
        self._pages = _page_hashes(folder)

    def origin(self, item: Item) -> Origin | None:
        """Return the article from which an item's question was made."""
        return self._origins.get(item.article or "")

    def hits(self, item: Item) -> list[Hit] | None:
        """Return the search results for an item's question or sub-questions, or None if there was no search."""
        drafts = [self._drafts[text] for text in item.sub_questions or (item.question,) if text in self._drafts]
        return [hit for draft in drafts for hit in self._hits.get(draft, ())] if drafts else None

    def page_hash(self, url: str | None) -> str | None:
        """Return the hash of a web page's bytes, or None if the build did not record a hash."""
        return self._pages.get(url or "")


def _read(path: Path, kind: type[_Made]) -> Iterator[_Made]:
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    for number, line in read_lines(path):
        try:
            yield decoder.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(path, f"{error}; fix the file, or move it to another folder", line=number) from error


def _page_hashes(folder: Path) -> dict[str, str]:
    try:
        lock = msgspec.json.decode(read_regular(folder / "build.lock"), type=_Hashes)
    except (OSError, *MALFORMED_JSON):  # The lock file is missing or in a different format, so there are no hashes.
        return {}
    return lock.sources | lock.pages


class MarkedSpan(Struct, frozen=True):
    """A highlighted span in a text."""

    start: int
    end: int
    kind: str  # type of span: gold, fake or cue


class ShownPassage(Struct, frozen=True, kw_only=True):
    """A passage with its rule-based label; `sha256` is the hash of its web page's bytes, if the build stored it."""

    passage: Passage
    is_edit: bool
    label: Labelling
    spans: list[MarkedSpan]
    sha256: str | None


class ShownPoint(Struct, frozen=True, kw_only=True):
    """A review point with its decision, if there is one."""

    name: str
    kind: str
    index: int
    span: int
    decision: PointDecision | None


class ItemPage(Struct, frozen=True, kw_only=True):
    """The content of an item's page.

    `at` is the item's position in the review order, counted from 0, and `next_open` is the next item to decide.
    """

    item: str
    data: str
    kind: Kind
    lang: Lang
    question: str
    answer: Answer
    fake: Answer | None
    sub_questions: tuple[str, ...]
    date: str | None
    known_by: tuple[str, ...]
    origin: Origin | None
    hits: list[Hit] | None
    passages: list[ShownPassage]
    points: list[ShownPoint]
    flags: tuple[Flag, ...]
    state: State
    at: int
    total: int
    before: str | None
    after: str | None
    next_open: str | None


def make_item_page(session: ReviewSession, provenance: Provenance, key: str) -> ItemPage:
    """Return an item's page."""
    item, entry = session.queue.read(key), session.queue.entries[key]
    state, order, at = session.state.of(key), session.order, session.order.index(key)
    return ItemPage(
        item=key,
        data=entry.data,
        kind=entry.kind,
        lang=item.lang,
        question=item.question,
        answer=item.answer,
        fake=item.fake,
        sub_questions=item.sub_questions,
        date=item.date,
        known_by=item.known_by,
        origin=provenance.origin(item),
        hits=provenance.hits(item),
        passages=[_show_passage(item, passage, provenance) for passage in item.passages],
        points=[
            ShownPoint(
                name=point.name,
                kind=point.kind,
                index=point.index,
                span=point.span,
                decision=state.sheet.get(point.name),
            )
            for point in points_of(item)
        ],
        flags=entry.flags,
        state=state.state,
        at=at,
        total=len(order),
        before=order[at - 1] if at else None,
        after=order[at + 1] if at + 1 < len(order) else None,
        next_open=session.next_open(at + 1),
    )


def _show_passage(item: Item, passage: Passage, provenance: Provenance) -> ShownPassage:
    spans = [MarkedSpan(one.start, one.end, "gold") for found in find_answer(item, passage.text) for one in found]
    if is_edit(passage):
        false = passage.edits or (spans_of(item, item.fake, passage.text) if item.fake else ())
        spans += [MarkedSpan(start, end, "fake") for start, end in false]
    elif passage.support is not None:
        spans.append(MarkedSpan(*passage.support, "cue"))
    return ShownPassage(
        passage=passage,
        is_edit=is_edit(passage),
        label=label_again(item, passage),
        spans=spans,
        sha256=provenance.page_hash(passage.url),
    )

"""The page for one item: its content and origin, and its review points with their decisions."""

from __future__ import annotations

from msgspec import Struct

from ragbed.builder.statements import find_answer, label_again, spans_of
from ragbed.schema import Answer, Hit, Item, Kind, Labelling, Lang, Passage
from ragbed.ui.review.flags import Flag
from ragbed.ui.review.points import is_edit, points_of
from ragbed.ui.review.provenance import Origin, Provenance
from ragbed.ui.review.records import PointDecision
from ragbed.ui.review.session import ReviewSession
from ragbed.ui.review.state import State


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

"""The page for one item: its content and origin, its review points, and the decisions that the rater may see."""

from __future__ import annotations

from msgspec import Struct

from ragbed.builder.relabel import label_again
from ragbed.builder.statements import find_answer, spans_of
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
    """A review point with the decisions that the rater may see.

    `counts` is the decision in effect. With two raters, `others` is empty until both are done, and `differs` says
    whether they have an unsettled disagreement.
    """

    name: str
    kind: str
    index: int
    span: int
    counts: PointDecision | None
    mine: PointDecision | None
    others: list[tuple[str, PointDecision]]
    final: tuple[str, PointDecision] | None
    differs: bool


class ItemPage(Struct, frozen=True, kw_only=True):
    """The content of an item's page.

    If the item is `closed`, the rater can only settle disagreements, because both raters are done or this is a third
    rater. `at` is the item's position in the review order, counted from 0, and `next_open` is this rater's next item.
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
    closed: bool
    at: int
    total: int
    before: str | None
    after: str | None
    next_open: str | None


def make_item_page(session: ReviewSession, provenance: Provenance, key: str, rater: str) -> ItemPage:
    """Return an item's page for a rater."""
    item, entry = session.queue.read(key), session.queue.entries[key]
    order, at = session.order, session.order.index(key)
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
        points=_show_points(session, key, rater, item),
        flags=entry.flags,
        state=seen_state(session, key, rater),
        closed=session.state.of(key).both_done or session.state.is_third(rater),
        at=at,
        total=len(order),
        before=order[at - 1] if at else None,
        after=order[at + 1] if at + 1 < len(order) else None,
        next_open=next_open(session, rater, at + 1),
    )


def next_open(session: ReviewSession, rater: str, start: int = 0) -> str | None:
    """Return a rater's next item, searching the review order from `start` and wrapping around at the end.

    Items that the rater has not decided come before those on which two raters disagree. A third rater gets only the
    latter.
    """
    rotated = session.order[start:] + session.order[:start]
    wanted = [("disagreed",)] if session.state.is_third(rater) else [("open", "begun"), ("disagreed",)]
    for states in wanted:
        for key in rotated:
            if seen_state(session, key, rater) in states:
                return key
    return None


def seen_state(session: ReviewSession, key: str, rater: str) -> State:
    """Return an item's state as a rater may see it. The other rater's decisions are hidden until both have finished."""
    item = session.state.of(key)
    if session.state.settings.raters == 1 or item.both_done:
        return item.state
    if rater in item.whole:
        return "waiting"
    return "begun" if rater in item.sheets else "open"


def _show_points(session: ReviewSession, key: str, rater: str, item: Item) -> list[ShownPoint]:
    state = session.state.of(key)
    is_open = session.state.settings.raters == 1 or state.both_done
    own = state.sheets.get(rater, {})
    others = {name: sheet for name, sheet in state.sheets.items() if name != rater and is_open}
    counting = state.settled if is_open else own
    return [
        ShownPoint(
            name=point.name,
            kind=point.kind,
            index=point.index,
            span=point.span,
            counts=None if point.name in state.differing else counting.get(point.name),
            mine=own.get(point.name),
            others=[(name, sheet[point.name]) for name, sheet in others.items() if point.name in sheet],
            final=state.finals.get(point.name),
            differs=point.name in state.differing,
        )
        for point in points_of(item)
    ]


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
        label=label_again(item, passage, "support"),
        spans=spans,
        sha256=provenance.page_hash(passage.url),
    )

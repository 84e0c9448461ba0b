"""The page of one item: all that is known of it, what is to be decided, and what was said as far as one may see it."""

from __future__ import annotations

from msgspec import Struct

from ragbed.builder.edits import find_fake
from ragbed.builder.mentions import find_answer
from ragbed.builder.relabel import label_again
from ragbed.schema import Answer, Hit, Item, Kind, Labelling, Lang, Passage
from ragbed.ui.review.flags import Flag
from ragbed.ui.review.points import is_edit, points_of
from ragbed.ui.review.provenance import Origin, Provenance
from ragbed.ui.review.records import PointDecision
from ragbed.ui.review.session import ReviewSession
from ragbed.ui.review.state import State


class MarkedSpan(Struct, frozen=True):
    """A stretch of a text that is marked."""

    start: int
    end: int
    kind: str
    """gold, fake or cue."""


class ShownPassage(Struct, frozen=True, kw_only=True):
    """A passage as it is shown."""

    passage: Passage
    is_edit: bool
    label: Labelling
    """What the rules make of it now, and why."""
    spans: list[MarkedSpan]
    sha256: str | None
    """Of the page's bytes, where a build's lock has it."""


class ShownPoint(Struct, frozen=True, kw_only=True):
    """Something to decide, and what was said of it."""

    name: str
    kind: str
    index: int
    span: int
    counts: PointDecision | None
    """What holds, as far as this rater may know: the last word, their own, or what two agree on."""
    mine: PointDecision | None
    others: list[tuple[str, PointDecision]]
    """Who and what: of two raters only after both are done."""
    final: tuple[str, PointDecision] | None
    differs: bool
    """Two raters differ, and nobody has settled it."""


class ItemPage(Struct, frozen=True, kw_only=True):
    """All of it."""

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
    """Both raters are done with it, or it is not this one's to rate: only what they differ on can be decided."""
    at: int
    """Its place in the order, counted from 0."""
    total: int
    before: str | None
    after: str | None
    next_open: str | None
    """The next one that this rater has not decided."""


def make_item_page(desk: ReviewSession, provenance: Provenance, key: str, rater: str) -> ItemPage:
    """The page of an item for a rater."""
    item, entry = desk.docket.read(key), desk.docket.entries[key]
    at = desk.order.index(key)
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
        points=_show_points(desk, key, rater, item),
        flags=entry.flags,
        state=seen_state(desk, key, rater),
        closed=desk.standing.of(key).both_done or desk.standing.is_third(rater),
        at=at,
        total=len(desk.order),
        before=desk.order[at - 1] if at else None,
        after=desk.order[at + 1] if at + 1 < len(desk.order) else None,
        next_open=next_open(desk, rater, at + 1),
    )


def next_open(desk: ReviewSession, rater: str, start: int = 0) -> str | None:
    """The next item that somebody has to decide, from a place in the order on, and then from its beginning.

    After one's own come those on which two raters differ; to who is neither, only these.
    """
    turned = desk.order[start:] + desk.order[:start]
    wanted = [("disagreed",)] if desk.standing.is_third(rater) else [("open", "begun"), ("disagreed",)]
    for states in wanted:
        for key in turned:
            if seen_state(desk, key, rater) in states:
                return key
    return None


def seen_state(desk: ReviewSession, key: str, rater: str) -> State:
    """Where an item stands as a rater may know it: with two of them, nothing of the other's until both are done."""
    one = desk.standing.of(key)
    if desk.standing.begun.raters == 1 or one.both_done:
        return one.state
    if rater in one.whole:
        return "waiting"
    return "begun" if rater in one.sheets else "open"


def _show_points(desk: ReviewSession, key: str, rater: str, item: Item) -> list[ShownPoint]:
    one = desk.standing.of(key)
    is_open = desk.standing.begun.raters == 1 or one.both_done
    own = one.sheets.get(rater, {})
    counting = one.settled if is_open else own
    shown = []
    for point in points_of(item):
        others = [
            (name, sheet[point.name]) for name, sheet in one.sheets.items() if name != rater and point.name in sheet
        ]
        shown.append(
            ShownPoint(
                name=point.name,
                kind=point.kind,
                index=point.index,
                span=point.span,
                counts=None if point.name in one.differing else counting.get(point.name),
                mine=own.get(point.name),
                others=others if is_open else [],
                final=one.finals.get(point.name),
                differs=point.name in one.differing,
            )
        )
    return shown


def _show_passage(item: Item, passage: Passage, provenance: Provenance) -> ShownPassage:
    spans = [MarkedSpan(one.start, one.end, "gold") for held in find_answer(item, passage.text) for one in held]
    if is_edit(passage):
        false = passage.edits or (find_fake(item, item.fake, passage.text) if item.fake else ())
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

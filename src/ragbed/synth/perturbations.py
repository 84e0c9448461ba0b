"""The dials: one cause of failure each, on in an item and off in its twin.

| Dial | On | Off |
|---|---|---|
| distance | in supporting documents the answer, at the end, is far from the event's name | right after it |
| hedge | documents guess beforehand at the event asked about, supporting ones at a later one | at another family's |
| sibling | documents tell of another year or division of the event, supporting ones also of it | of another family |
| outdated | documents give an early value that was overtaken, supporting ones then the last one | another family's |
| partial | distracting documents tell everything of the event but what is asked | of another family |
| contradiction | they state a wrong value as a fact | of another family |
| agreement | they state one and the same wrong value | each another one |
| random | they are of another domain | they tell of siblings |
| refusal | they say that nothing can be answered | something else in its place |
| overlap | they repeat the question | something else in its place |
| length | all documents have 600 to 2,000 tokens | the usual length |

A cause counts as real for a model only if it answers the twin rightly and the item wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ragbed.synth.document_plan import (
    Act,
    ArticlePlan,
    DocumentBrief,
    Order,
    Statement,
    draw_form,
    plan_distractor,
    plan_support,
)
from ragbed.synth.events import TRUE
from ragbed.synth.hash_random import HashRandom

LONG_TOKENS = (600, 1950)
"""Lengths that the length dial draws from; padding overshoots by up to one sentence, and 2,000 is the
longest document promised."""

FAR_TOKENS = 200
"""Least length of a document under the distance dial. Its answer, always at the end, then stands far more than 60
tokens from the name, which is where an error begins to count as one of long distance."""

_TROUBLED_TOKENS = 100
"""Least length of a document with a trouble in it: in shorter ones, which all tell of the same two events,
one pair in 200,000 documents shared over 60 % of its 8-grams."""

_VALUES = 100
"""How many early or guessed values an event has: reports of different hours differ."""

_CLEAR_FORMS = ("report", "feature")
"""Forms that name no other event."""

FOREIGN = "foreign"
"""Kind of a document about another family of the same domain: what stands in for a confusing one."""


class Sketch(NamedTuple):
    """A document's plan with what its dial does to its shape."""

    plan: ArticlePlan
    least_tokens: int = 0
    order: Order = "told first"
    insert: Statement | None = None


def sketch_support(dial: str | None, on: bool, brief: DocumentBrief, draw: HashRandom) -> Sketch:
    """A supporting document under a dial: it has the dial's trouble in it, or none."""
    form = draw_form(brief, draw) if dial is None else draw.pick(_CLEAR_FORMS)
    if dial in _TROUBLES:
        return Sketch(_troubled(brief, on, draw, dial), least_tokens=_TROUBLED_TOKENS)
    if dial == "distance":
        plan = plan_support(brief, "feature", draw)
        pair = tuple(statement for statement in plan.statements if statement.act is not Act.FILLER)
        return Sketch(plan._replace(statements=pair), least_tokens=FAR_TOKENS, order="far" if on else "near")
    return Sketch(plan_support(brief, form, draw), least_tokens=_length(dial, on, draw))


def _troubled(brief: DocumentBrief, on: bool, draw: HashRandom, dial: str | None) -> ArticlePlan:
    """Something confusing and then the answer; with the dial off it is about another family and confuses less."""
    act, role = _TROUBLES[dial]
    later = [event for event in brief.siblings if event.edition > brief.target.edition]
    event = brief.target if act is Act.STALE else draw.pick(later)
    role = role if role == TRUE else f"{role} {draw.below(_VALUES)}"
    trouble = Statement(act, event, brief.relation, role, abroad=0 if on else 1)
    return ArticlePlan((trouble, Statement(Act.FACT, brief.target, brief.relation)), "supports", "related")


def sketch_distractor(dial: str | None, on: bool, brief: DocumentBrief, draw: HashRandom, number: int) -> Sketch:
    """A distracting document under a dial.

    Args:
        dial: Its name, or None for the natural mix.
        on: Whether it is on.
        brief: What is asked.
        draw: Where chance comes from; the same for an item and its twin.
        number: Which of the item's distracting documents this is, so that wrong values differ.
    """
    form = draw_form(brief, draw)
    role = f"wrong {number}"
    plan = plan_distractor(brief, form, draw, role)
    if dial in _PLANNERS:
        return Sketch(_PLANNERS[dial](brief, on, draw, role), least_tokens=_TROUBLED_TOKENS)
    if dial is not None and dial in _INSERTS:
        plan = plan_distractor(brief, draw.pick(("report", "history")), draw, role)
        insert = Statement(_INSERTS[dial] if on else Act.FILLER, brief.target)
        return Sketch(plan._replace(kind=dial) if on else plan, insert=insert)
    return Sketch(plan, least_tokens=_length(dial, on, draw))


def _length(dial: str | None, on: bool, draw: HashRandom) -> int:
    long = draw.between(*LONG_TOKENS)
    return long if dial == "length" and on else 0


def _hedge(brief: DocumentBrief, on: bool, draw: HashRandom, role: str) -> ArticlePlan:
    earlier = [event for event in brief.siblings if event.edition < brief.target.edition]
    guess = Statement(Act.HEDGE, brief.target, brief.relation, role=role)
    plan = ArticlePlan((guess, Statement(Act.FACT, draw.pick(earlier), brief.relation)), "distracts", "rumour")
    return plan if on else plan.moved(1, FOREIGN)


def _sibling(brief: DocumentBrief, on: bool, draw: HashRandom, role: str) -> ArticlePlan:
    plan = plan_distractor(brief, draw.pick(("report", "feature", "history")), draw, role)
    return plan if on else plan.moved(1, FOREIGN)


def _outdated(brief: DocumentBrief, on: bool, draw: HashRandom, role: str) -> ArticlePlan:
    early = Statement(Act.STALE, brief.target, brief.relation, role=role)
    plan = ArticlePlan((early, Statement(Act.FACT, draw.pick(brief.siblings), brief.relation)), "distracts", "outdated")
    return plan if on else plan.moved(1, FOREIGN)


def _partial(brief: DocumentBrief, on: bool, draw: HashRandom, role: str) -> ArticlePlan:
    plan = plan_distractor(brief, "partial", draw, role)
    return plan if on else plan.moved(1, FOREIGN)


def _contradiction(brief: DocumentBrief, on: bool, _: HashRandom, role: str) -> ArticlePlan:
    wrong = Statement(Act.FACT, brief.target, brief.relation, role=role)
    detail = Statement(Act.DETAIL, brief.target, named=False)
    plan = ArticlePlan((wrong, detail), "distracts", "contradiction")
    return plan if on else plan.moved(1, FOREIGN)


def _agreement(brief: DocumentBrief, on: bool, draw: HashRandom, role: str) -> ArticlePlan:
    return _contradiction(brief, True, draw, "wrong" if on else role)


def _random(brief: DocumentBrief, on: bool, draw: HashRandom, role: str) -> ArticlePlan:
    plan = plan_distractor(brief, "report", draw, role)
    return plan.moved(2, "random") if on else plan


_PLANNERS: dict[str | None, Callable[[DocumentBrief, bool, HashRandom, str], ArticlePlan]] = {
    "hedge": _hedge,
    "sibling": _sibling,
    "outdated": _outdated,
    "partial": _partial,
    "contradiction": _contradiction,
    "agreement": _agreement,
    "random": _random,
}
_INSERTS: dict[str, Act] = {"refusal": Act.REFUSAL, "overlap": Act.ECHO}

_TROUBLES: dict[str | None, tuple[Act, str]] = {
    "hedge": (Act.HEDGE, "rumour"),
    "sibling": (Act.FACT, TRUE),
    "outdated": (Act.STALE, "early"),
}
"""Dials that are in supporting documents too: what is said there before the answer, and in which role."""

DIALS = ("distance", "hedge", "sibling", "outdated", "partial", "contradiction", "agreement", "random", "refusal",
         "overlap", "length")  # fmt: skip
"""Every dial, in the order in which the default mix takes them in turn."""

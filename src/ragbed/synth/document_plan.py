"""Plan the statements in each of an item's documents.

Supporting and distracting documents are drawn from the same forms with the same probabilities; they differ only in the
events that the statements are about. For example, a rumour about next year's final that mentions this year's winner
supports the question about this year and is a distractor for the question about next year. A reader who sees a document
without the question therefore cannot tell supporting and distracting documents apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from ragbed.schema import Stance
from ragbed.synth.events import TRUE, Event, EventFamily
from ragbed.synth.hash_random import HashRandom
from ragbed.synth.phrase_banks import STALE

# The order of a document's sentences: the statements followed by padding, or the answer at the end, either right after
# the event's name ("near") or separated from it by the padding ("far").
Order: TypeAlias = Literal["statements first", "near", "far"]


class Act(StrEnum):
    """The purpose of a statement."""

    FACT = "fact"
    HEDGE = "hedge"
    STALE = "stale"
    DETAIL = "detail"
    INTRO = "intro"
    REFUSAL = "refusal"
    ECHO = "echo"
    FILLER = "filler"


class Statement(NamedTuple):
    """The plan for one sentence.

    Attributes:
        act: The purpose of the sentence.
        event: The event that it is about.
        relation: The relation whose value it states, if any.
        role: The role of that value; only facts with the role `TRUE` are true.
        named: Whether it gives the event's full name instead of only referring back to the event.
        family: Index of the event's family: 0 for the question's family, 1 for another family in the same domain, and 2
            for a family in another domain.
    """

    act: Act
    event: Event = Event(0, 0)
    relation: str = ""
    role: str = TRUE
    named: bool = True
    family: int = 0


class ArticlePlan(NamedTuple):
    """The plan for one document.

    Attributes:
        statements: Its statements, in order.
        stance: Its relevance label.
        kind: Its type within the relevance label.
        part: Index of the sub-question that it supports.
        min_tokens: Its minimum length.
        order: The order of its statements and the padding.
        insert: The statement that a perturbation puts first, or the filler in its place if the perturbation is off.
    """

    statements: tuple[Statement, ...]
    stance: Stance
    kind: str
    part: int = 0
    min_tokens: int = 0
    order: Order = "statements first"
    insert: Statement | None = None

    def moved(self, family: int, kind: str) -> ArticlePlan:
        """Return a copy of the plan that uses another family of events."""
        statements = tuple(statement._replace(family=family) for statement in self.statements)
        return self._replace(statements=statements, kind=kind)


@dataclass(frozen=True)
class DocumentBrief:
    """The question that a document is planned for.

    Attributes:
        family: The question's family of events.
        asked: The event and the relation that each sub-question is about.
        part: Index of the sub-question that the document is planned for.
    """

    family: EventFamily
    asked: tuple[tuple[Event, str], ...]
    part: int = 0

    @property
    def target(self) -> Event:
        """The event that the document's sub-question is about."""
        return self.asked[self.part][0]

    @property
    def relation(self) -> str:
        """The relation that the document's sub-question is about."""
        return self.asked[self.part][1]

    @cached_property
    def asked_relations(self) -> frozenset[str]:
        """The relations that the sub-questions are about."""
        return frozenset(relation for _, relation in self.asked)

    @cached_property
    def siblings(self) -> list[Event]:
        """The events that no sub-question is about, earliest first."""
        targets = {event for event, _ in self.asked}
        return [event for event in self.family.events if event not in targets]


# The document forms, each repeated in proportion to its probability. Forms that state a superseded value are
# used only for relations with early values.
_FORMS = ("report",) * 3 + ("feature",) * 2 + ("history",) * 3 + ("rumour",) * 4 + ("partial",) * 3
_EARLY_FORMS = ("update",) * 2 + ("outdated",) * 2

# The opening statements of each document form. The event, the relation and, for guesses, the role are added later.
_OPENINGS = {
    "report": (Statement(Act.FACT), Statement(Act.DETAIL, named=False)),
    "feature": (Statement(Act.INTRO), Statement(Act.FILLER, named=False), Statement(Act.FACT, named=False)),
    "history": (Statement(Act.FACT),),
    "rumour": (Statement(Act.HEDGE),),
    "partial": (Statement(Act.DETAIL), Statement(Act.DETAIL, named=False)),
    "update": (Statement(Act.STALE, role="early"), Statement(Act.FACT, named=False)),
    "outdated": (Statement(Act.STALE, role="early"),),
}


def draw_form(brief: DocumentBrief, draw: HashRandom) -> str:
    """Choose the form of a document at random, independently of its relevance label."""
    has_early_values = brief.family.domain.relations[brief.relation].wording[STALE]
    return draw.pick(_FORMS + _EARLY_FORMS if has_early_values else _FORMS)


def plan_support(brief: DocumentBrief, form: str, draw: HashRandom) -> ArticlePlan:
    """Return the plan for a document that states the answer."""
    target = brief.target
    first, second = target, None
    if form in ("rumour", "history"):
        is_later = form == "history" and draw.chance(50)
        others = [event for event in brief.siblings if (event.edition < target.edition) == is_later]
        others = [event for event in others if event.edition != target.edition]
        first, second = (target, draw.pick(others)) if is_later else (draw.pick(others), target)
    elif form in ("partial", "outdated"):
        first, second = draw.pick(brief.siblings), target
    return ArticlePlan(_statements(brief, form, first, second, "rumour"), "supports", "related", brief.part)


def plan_distractor(brief: DocumentBrief, form: str, draw: HashRandom, role: str) -> ArticlePlan:
    """Return the plan for a document that resembles a supporting one but does not state the answer."""
    siblings = brief.siblings
    second = None
    is_about_target = form in ("partial", "outdated") or (form == "rumour" and draw.chance(60))
    if form in ("rumour", "history"):
        first = brief.target if is_about_target else draw.pick([event for event in siblings if event.edition > 0])
        second = draw.pick([event for event in siblings if event.edition < first.edition])
    elif is_about_target:
        first, second = brief.target, draw.pick(siblings)
    else:
        first = draw.pick(siblings)
    kind = form if is_about_target else "sibling"
    return ArticlePlan(_statements(brief, form, first, second, role), "distracts", kind, brief.part)


def _statements(
    brief: DocumentBrief, form: str, first: Event, second: Event | None, role: str
) -> tuple[Statement, ...]:
    """Return a form's statements about the first event, followed by the fact about the second event if there is one."""
    opening = tuple(
        statement._replace(
            event=first,
            relation=brief.relation if statement.act in (Act.FACT, Act.HEDGE, Act.STALE) else "",
            role=role if statement.act is Act.HEDGE else statement.role,
        )
        for statement in _OPENINGS[form]
    )
    return opening if second is None else (*opening, Statement(Act.FACT, second, brief.relation))

"""What each document of an item says, before it is put into words.

A document is a list of statements. Supporting and distracting documents are drawn from the same
forms with the same odds; only which event stands where differs. A rumour about next year's final
that recalls who won this year's supports the question about this year and distracts from the one
about next year. That is why a reader that sees a document and no question cannot tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from ragbed.schema import Stance
from ragbed.worlds.banks import STALE
from ragbed.worlds.draw import Draw
from ragbed.worlds.model import TRUE, Event, Family


class Act(StrEnum):
    """What a statement does."""

    FACT = "fact"
    HEDGE = "hedge"
    STALE = "stale"
    DETAIL = "detail"
    INTRO = "intro"
    REFUSAL = "refusal"
    ECHO = "echo"
    FILLER = "filler"


@dataclass(frozen=True)
class Statement:
    """One sentence to be.

    Attributes:
        act: What it does.
        event: What it is about.
        relation: What it says of it, where it says something asked.
        role: Which value it gives; only facts in the true role are true.
        named: Whether the event is called by its full name or only referred back to.
        abroad: Which family the event is of: 0 its own, 1 another of the domain, 2 one of another domain.
    """

    act: Act
    event: Event = Event(0, 0)
    relation: str = ""
    role: str = TRUE
    named: bool = True
    abroad: int = 0


@dataclass(frozen=True)
class Plan:
    """A document to be.

    Attributes:
        statements: What it says, in order.
        stance: How it stands to the answer.
        kind: Finer than the stance.
        part: The sub-question it supports.
    """

    statements: tuple[Statement, ...]
    stance: Stance
    kind: str
    part: int = 0

    def moved(self, abroad: int, kind: str) -> Plan:
        """The same document about another family: what a twin has in place of a confusing one."""
        moved = tuple(replace(statement, abroad=abroad) for statement in self.statements)
        return replace(self, statements=moved, kind=kind)


@dataclass(frozen=True)
class Brief:
    """What a document is planned for.

    Attributes:
        family: The family asked about.
        asked: Each event and relation asked about; more than one in an integration item.
        part: Which of them this document is about.
    """

    family: Family
    asked: tuple[tuple[Event, str], ...]
    part: int = 0

    @property
    def target(self) -> Event:
        """The event in question."""
        return self.asked[self.part][0]

    @property
    def relation(self) -> str:
        """The relation in question."""
        return self.asked[self.part][1]

    def siblings(self) -> list[Event]:
        """Events that are asked about in no part, the earliest first."""
        taken = {event for event, _ in self.asked}
        return [event for event in self.family.events if event not in taken]

    def has_early_values(self) -> bool:
        """Whether the relation has values that are overtaken later."""
        return bool(self.family.domain.relations[self.relation].wording[STALE])


_FORMS = ("report",) * 3 + ("feature",) * 2 + ("history",) * 3 + ("rumour",) * 4 + ("partial",) * 3
_EARLY_FORMS = ("update",) * 2 + ("outdated",) * 2
"""Forms and their odds; the last two only where a relation has early values."""


def draw_form(brief: Brief, draw: Draw) -> str:
    """The form of a document, whatever its stance."""
    return draw.pick(_FORMS + _EARLY_FORMS if brief.has_early_values() else _FORMS)


def plan_support(brief: Brief, form: str, draw: Draw) -> Plan:
    """A document that states the answer."""
    target = brief.target
    first: Event
    second: Event | None
    if form in ("rumour", "history"):
        is_later = form == "history" and draw.chance(50)
        others = [event for event in brief.siblings() if (event.edition < target.edition) == is_later]
        others = [event for event in others if event.edition != target.edition]
        first, second = (target, draw.pick(others)) if is_later else (draw.pick(others), target)
    elif form in ("partial", "outdated"):
        first, second = draw.pick(brief.siblings()), target
    else:
        first, second = target, None
    return Plan(_statements(brief, form, first, second, "rumour"), "supports", "related", brief.part)


def plan_distractor(brief: Brief, form: str, draw: Draw, role: str) -> Plan:
    """A document that shares almost everything with a supporting one and does not state the answer."""
    siblings, target = brief.siblings(), brief.target
    first: Event
    second: Event | None
    confusing = form in ("partial", "outdated") or (form == "rumour" and draw.chance(60))
    if form in ("rumour", "history"):
        first = target if confusing else draw.pick([event for event in siblings if event.edition > 0])
        earlier = [event for event in siblings if event.edition < first.edition]
        second = draw.pick(earlier)
    elif confusing:
        first, second = target, draw.pick(siblings)
    else:
        first, second = draw.pick(siblings), None
    kind = form if confusing else "sibling"
    return Plan(_statements(brief, form, first, second, role), "distracts", kind, brief.part)


def _statements(brief: Brief, form: str, first: Event, second: Event | None, role: str) -> tuple[Statement, ...]:
    """The sentences of a form; the second event's fact closes those that have two."""
    asked = brief.relation
    openings = {
        "report": (Statement(Act.FACT, first, asked), Statement(Act.DETAIL, first, named=False)),
        "feature": (
            Statement(Act.INTRO, first),
            Statement(Act.FILLER, first),
            Statement(Act.FACT, first, asked, named=False),
        ),
        "history": (Statement(Act.FACT, first, asked),),
        "rumour": (Statement(Act.HEDGE, first, asked, role=role),),
        "partial": (Statement(Act.DETAIL, first), Statement(Act.DETAIL, first, named=False)),
        "update": (Statement(Act.STALE, first, asked, role="early"), Statement(Act.FACT, first, asked, named=False)),
        "outdated": (Statement(Act.STALE, first, asked, role="early"),),
    }
    closing = () if second is None else (Statement(Act.FACT, second, asked),)
    return openings[form] + closing

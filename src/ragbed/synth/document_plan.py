"""What each document of an item says, before it is put into words.

A document is a list of statements. Supporting and distracting documents are drawn from the same
forms with the same odds; only which event stands where differs. A rumour about next year's final
that recalls who won this year's supports the question about this year and distracts from the one
about next year. That is why a reader that sees a document and no question cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from ragbed.schema import Stance
from ragbed.synth.events import TRUE, Event, EventFamily
from ragbed.synth.hash_random import HashRandom
from ragbed.synth.phrase_banks import STALE

Order: TypeAlias = Literal["told first", "near", "far"]
"""How a document goes: what it tells and then the padding; or the answer last, and the event's name right before it
or far before it."""


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


class Statement(NamedTuple):
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


class ArticlePlan(NamedTuple):
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

    def bare(self) -> ArticlePlan:
        """The same document without what it need not tell, for a short one."""
        told = (one for one in self.statements if one.named or one.act not in (Act.DETAIL, Act.FILLER))
        return self._replace(statements=tuple(told))

    def moved(self, abroad: int, kind: str) -> ArticlePlan:
        """The same document about another family: what a twin has in place of a confusing one."""
        moved = tuple(statement._replace(abroad=abroad) for statement in self.statements)
        return self._replace(statements=moved, kind=kind)


@dataclass(frozen=True)
class DocumentBrief:
    """What a document is planned for.

    Attributes:
        family: The family asked about.
        asked: Each event and relation asked about; more than one in an integration item.
        part: Which of them this document is about.
    """

    family: EventFamily
    asked: tuple[tuple[Event, str], ...]
    part: int = 0

    @property
    def target(self) -> Event:
        """The event in question."""
        return self.asked[self.part][0]

    @cached_property
    def asked_relations(self) -> frozenset[str]:
        """All relations in question."""
        return frozenset(relation for _, relation in self.asked)

    @property
    def relation(self) -> str:
        """The relation in question."""
        return self.asked[self.part][1]

    @cached_property
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


def draw_form(brief: DocumentBrief, draw: HashRandom) -> str:
    """The form of a document, whatever its stance."""
    return draw.pick(_FORMS + _EARLY_FORMS if brief.has_early_values() else _FORMS)


def plan_support(brief: DocumentBrief, form: str, draw: HashRandom) -> ArticlePlan:
    """A document that states the answer."""
    target = brief.target
    first: Event
    second: Event | None
    if form in ("rumour", "history"):
        is_later = form == "history" and draw.chance(50)
        others = [event for event in brief.siblings if (event.edition < target.edition) == is_later]
        others = [event for event in others if event.edition != target.edition]
        first, second = (target, draw.pick(others)) if is_later else (draw.pick(others), target)
    elif form in ("partial", "outdated"):
        first, second = draw.pick(brief.siblings), target
    else:
        first, second = target, None
    return ArticlePlan(_statements(brief, form, first, second, "rumour"), "supports", "related", brief.part)


def plan_distractor(brief: DocumentBrief, form: str, draw: HashRandom, role: str) -> ArticlePlan:
    """A document that shares almost everything with a supporting one and does not state the answer."""
    siblings, target = brief.siblings, brief.target
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
    return ArticlePlan(_statements(brief, form, first, second, role), "distracts", kind, brief.part)


def _statements(
    brief: DocumentBrief, form: str, first: Event, second: Event | None, role: str
) -> tuple[Statement, ...]:
    """The sentences of a form; the second event's fact closes those that have two."""
    opening = _OPENINGS[form](first, brief.relation, role)
    return opening if second is None else (*opening, Statement(Act.FACT, second, brief.relation))


def _feature(event: Event, asked: str, _: str) -> tuple[Statement, ...]:
    return (
        Statement(Act.INTRO, event),
        Statement(Act.FILLER, event, named=False),
        Statement(Act.FACT, event, asked, named=False),
    )


def _update(event: Event, asked: str, _: str) -> tuple[Statement, ...]:
    return Statement(Act.STALE, event, asked, "early"), Statement(Act.FACT, event, asked, named=False)


_OPENINGS: dict[str, Callable[[Event, str, str], tuple[Statement, ...]]] = {
    "report": lambda event, asked, _: (Statement(Act.FACT, event, asked), Statement(Act.DETAIL, event, named=False)),
    "feature": _feature,
    "history": lambda event, asked, _: (Statement(Act.FACT, event, asked),),
    "rumour": lambda event, asked, role: (Statement(Act.HEDGE, event, asked, role),),
    "partial": lambda event, _, __: (Statement(Act.DETAIL, event), Statement(Act.DETAIL, event, named=False)),
    "update": _update,
    "outdated": lambda event, asked, _: (Statement(Act.STALE, event, asked, "early"),),
}
"""What each form opens with: said of the first event, for the relation asked, in the role of a wrong value."""

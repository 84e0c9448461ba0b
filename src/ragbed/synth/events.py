"""Generate families of fictional events and everything that is true about them.

A family is a cup, a prize, the results of a company, …. Its events are five consecutive years, in one division or two.
Every relation of an event also exists, with another value, for the sibling events, so that documents about siblings are
good distractors.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import cached_property
from typing import NamedTuple

from ragbed.synth.hash_random import HashRandom, Key
from ragbed.synth.phrase_banks import Banks, Domain
from ragbed.synth.templates import Template
from ragbed.synth.values import Value, ValueFactory

# Years of a family. Questions are never about the first or the last, so that each event has an earlier sibling and a
# later one.
EDITIONS = 5
TRUE = "true"  # the role of the true value; every other role names a false value
_FIRST_YEAR, _LAST_YEAR = 2011, 2022


class Event(NamedTuple):
    """One event of a family: the year, counted from the first, and the division."""

    edition: int
    variant: int


class EventFamily:
    """A series of events whose values are generated on first use.

    Args:
        banks: The phrase banks of the language.
        domain: The kind of event.
        key: The key of the random values.
        like: A family with which this one shares the years and the number of divisions, so that it can replace it.
    """

    def __init__(self, banks: Banks, domain: Domain, key: Key, like: EventFamily | None = None) -> None:
        draw = HashRandom(*key, "family")
        self.domain, self.key, self._banks = domain, key, banks
        self.tag = draw.tag()
        self.first_year: int = like.first_year if like else draw.between(_FIRST_YEAR, _LAST_YEAR)
        pair = draw.pick(domain.sections["variant"]).source.split("|")
        divided = len(like.variants) > 1 if like else draw.chance(50)
        self.variants: tuple[str, ...] = tuple(word.strip() for word in draw.shuffled(pair)) if divided else ("",)
        self._factory = ValueFactory(banks, banks.name("currency", draw))
        self.name = draw.pick(domain.sections["family"]).write(lambda slot: banks.name(slot, draw), draw)
        self._first_rank = draw.between(1, 4)
        self._values: dict[tuple[Event, str, str], Value] = {}
        self._days: dict[Event, date] = {}
        self._event_names: dict[tuple[Event, Template], str] = {}

    @cached_property
    def events(self) -> list[Event]:
        """All events, the earliest first."""
        return [Event(edition, variant) for edition in range(EDITIONS) for variant in range(len(self.variants))]

    def day(self, event: Event) -> date:
        """Return the date of an event, from February to October, so that guesses can precede it in the same year."""
        if event not in self._days:
            draw = HashRandom(*self.key, "day", event.edition, event.variant)
            self._days[event] = date(self.year(event), 2, 1) + timedelta(days=draw.below(270))
        return self._days[event]

    def year(self, event: Event) -> int:
        """Return the year of an event."""
        return self.first_year + event.edition

    def value(self, event: Event, relation: str, role: str = TRUE) -> Value:
        """Return the value of a relation: the true one, or the false one of another role."""
        key = (event, relation, role)
        if key not in self._values:
            draw = HashRandom(*self.key, event.edition, event.variant, relation, role)
            day = self.day(event)
            if role != TRUE:
                day += timedelta(days=draw.between(12, 40))
            value_type = self.domain.relations[relation].value_type
            self._values[key] = self._factory.make(
                value_type, day, draw, lambda: HashRandom(*self.key, relation, "level")
            )
        return self._values[key]

    def event_name(self, event: Event, draw: HashRandom, section: str = "event") -> str:
        """Return a full name of an event, or (section "short") one without the name of the family."""
        template = draw.pick(self.domain.sections[section])
        key = (event, template)
        if key not in self._event_names:
            variant = self.variants[event.variant]
            space = " " if variant and self._banks.lang == "en" else ""
            slots = {
                "fam": self.name,
                "year": str(self.year(event)),
                "nth": self._banks.rules.ordinal(self._first_rank + event.edition),
                "var": variant + space,
            }
            self._event_names[key] = template.write(slots.__getitem__, draw).replace("s's ", "s' ")
        return self._event_names[key]

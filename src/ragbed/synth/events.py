"""Generate families of fictional events and all facts about them.

A family is, for example, a cup, a prize or a company's results. Its events take place in five consecutive years, in one
or two divisions. Sibling events have the same relations with different values, so documents about siblings are good
distractors. The types of values are person, name (place, organisation), title, date, number with unit, percentage and
money.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import cached_property
from typing import NamedTuple

from ragbed.synth.hash_random import HashRandom, Key
from ragbed.synth.phrase_banks import Banks, Domain
from ragbed.synth.templates import Template

# Number of years in an event family. Questions are never about the first or last year, so that each event in a
# question has an earlier and a later sibling.
EDITIONS = 5
TRUE = "true"  # the role of the true value; all other roles are for false values
_FIRST_YEAR, _LAST_YEAR = 2011, 2022


class Value(NamedTuple):
    """The value of one relation for an event, e.g. a date or a name.

    Attributes:
        forms: The spellings that documents use.
        aliases: The accepted answers; every form contains one of them.
    """

    forms: tuple[str, ...]
    aliases: tuple[str, ...]


def make_value(
    banks: Banks,
    currency: str,
    value_type: tuple[str, ...],
    day: date,
    draw: HashRandom,
    level: Callable[[], HashRandom],
) -> Value:
    """Return a random value of the given type.

    Args:
        banks: The language's phrase banks.
        currency: The currency of the family of events.
        value_type: The type and its arguments.
        day: The day of the event.
        draw: Random generator for the value.
        level: Returns the random generator for the magnitude. All events in a family share it, because a company's
            sales do not grow a hundredfold from one quarter to the next.
    """
    rules = banks.rules
    match value_type:
        case ("person",):
            name = banks.name("someone", draw)
            last = name.rsplit(" ", 1)[-1]
            return Value((name,), (name, last) if last != name else rules.name_aliases(name))
        case ("name", section):
            name = banks.name(section, draw)
            return Value((name,), rules.name_aliases(name))
        case ("title", section):
            forms: tuple[str, ...] = (banks.name(section, draw),)
        case ("date",):
            forms = rules.date_forms(day)
        case ("percent", low, high):
            tenths = draw.between(int(low) * 10 + 1, int(high) * 10)
            forms = rules.percent_forms(f"{tenths // 10}.{tenths % 10 or 5}")
        case ("number", low, high, step, units):
            decimals = len(step.partition(".")[2])
            steps = _draw_near(round(float(low) / float(step)), round(float(high) / float(step)), draw, level())
            number = f"{steps * float(step):.{decimals}f}"
            forms = tuple(form for unit in units.split("|") for form in rules.number_forms(number, unit))
            return Value(forms, rules.with_variants(forms))
        case ("money", low, high):
            forms = rules.money_forms(_draw_amount(low, high, draw, level()), currency)
            return Value(forms, rules.with_variants(forms))
        case _:
            raise ValueError(f"unknown value type in a phrase bank: {' '.join(value_type)}")
    return Value(forms, forms)


def _draw_amount(low: str, high: str, draw: HashRandom, level: HashRandom) -> int:
    """Return a number with two or three significant digits followed by zeros; the bounds limit its number of digits."""
    scale: int = 10 ** max(level.between(len(low) - 1, len(high) - 1) - 1, 0)
    amount = _draw_near(11, 99, draw, level) * scale
    if draw.chance(40):
        amount += draw.between(1, 9) * scale // 10
    return amount


def _draw_near(low: int, high: int, draw: HashRandom, level: HashRandom) -> int:
    """Return an integer between about 60% and 160% of the family's typical magnitude."""
    centre = level.between(low, high)
    return draw.between(max(low, centre * 3 // 5), min(high, centre * 8 // 5))


class Event(NamedTuple):
    """One event in a family, identified by its year (counted from the family's first year) and its division."""

    edition: int
    variant: int


class EventFamily:
    """A series of events whose values are generated on first use.

    Args:
        banks: The language's phrase banks.
        domain: The kind of event.
        key: The key for the random generators of its values.
        like: A family whose years and number of divisions are copied, so that the new family can replace it.
    """

    def __init__(self, banks: Banks, domain: Domain, key: Key, like: EventFamily | None = None) -> None:
        draw = HashRandom(*key, "family")
        self.domain, self.key, self._banks = domain, key, banks
        self.tag = draw.tag()
        self.first_year: int = like.first_year if like else draw.between(_FIRST_YEAR, _LAST_YEAR)
        pair = draw.pick(domain.sections["variant"]).source.split("|")
        divided = len(like.variants) > 1 if like else draw.chance(50)
        self.variants: tuple[str, ...] = tuple(word.strip() for word in draw.shuffled(pair)) if divided else ("",)
        self._currency = banks.name("currency", draw)
        self.name = draw.pick(domain.sections["family"]).write(lambda slot: banks.name(slot, draw), draw)
        self._first_rank = draw.between(1, 4)
        self._values: dict[tuple[Event, str, str], Value] = {}
        self._days: dict[Event, date] = {}
        self._event_names: dict[tuple[Event, Template], str] = {}

    @cached_property
    def events(self) -> list[Event]:
        """All events, earliest first."""
        return [Event(edition, variant) for edition in range(EDITIONS) for variant in range(len(self.variants))]

    def day(self, event: Event) -> date:
        """Return the date of an event. It is between February and October; speculative documents are dated earlier."""
        if event not in self._days:
            draw = HashRandom(*self.key, "day", event.edition, event.variant)
            self._days[event] = date(self.year(event), 2, 1) + timedelta(days=draw.below(270))
        return self._days[event]

    def year(self, event: Event) -> int:
        """Return the year of an event."""
        return self.first_year + event.edition

    def value(self, event: Event, relation: str, role: str = TRUE) -> Value:
        """Return a relation's value in the given role: either the true value or one of the false ones."""
        key = (event, relation, role)
        if key not in self._values:
            draw = HashRandom(*self.key, event.edition, event.variant, relation, role)
            day = self.day(event)
            if role != TRUE:
                day += timedelta(days=draw.between(12, 40))
            value_type = self.domain.relations[relation].value_type
            self._values[key] = make_value(
                self._banks, self._currency, value_type, day, draw, lambda: HashRandom(*self.key, relation, "level")
            )
        return self._values[key]

    def event_name(self, event: Event, draw: HashRandom, section: str = "event") -> str:
        """Return an event's full name or, if `section` is "short", a name that omits the family's name."""
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

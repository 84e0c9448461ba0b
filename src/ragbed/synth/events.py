"""The world: families of events that differ in one qualifier, and everything that is true of them.

A family is a cup, a prize, a company's results, …; its events are its editions: five years running,
in one division or two. Whatever is asked of one event is also true, with another value, of its
siblings, which is what makes their documents good distractors for one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.synth.chinese import Chinese
from ragbed.synth.english import English
from ragbed.synth.hash_random import HashRandom
from ragbed.synth.language import LanguageRules
from ragbed.synth.phrase_banks import Banks, Domain, load_banks
from ragbed.synth.templates import Template
from ragbed.synth.values import Value, ValueFactory

EDITIONS = 5
"""Years of a family. The event asked about is never the first or the last, so that it always has an
earlier sibling to be confused with and a later one that can be guessed at."""

TRUE = "true"
"""The role of the value that holds; any other role names a value that does not."""

_FIRST_YEAR, _LAST_YEAR = 2011, 2022


class Event(NamedTuple):
    """One edition: which year, counted from the family's first, and which division."""

    edition: int
    variant: int


@dataclass(frozen=True)
class SynthSetting:
    """What all families of a language are made with."""

    banks: Banks
    tongue: LanguageRules


class EventFamily:
    """A series of events, with values made when first asked for.

    Args:
        setting: The language.
        domain: The kind of event.
        key: What its values are drawn from.
        like: A family to have the years and the number of divisions of, so that one can stand in for
            the other.
    """

    def __init__(
        self, setting: SynthSetting, domain: Domain, key: tuple[str | int, ...], like: EventFamily | None = None
    ) -> None:
        draw = HashRandom(*key, "family")
        self.domain, self.key, self._setting = domain, key, setting
        self.tag = draw.tag()
        self.first_year: int = like.first_year if like else draw.between(_FIRST_YEAR, _LAST_YEAR)
        pair = draw.pick(domain.sections["variant"]).source.split("|")
        divided = len(like.variants) > 1 if like else draw.chance(50)
        self.variants: tuple[str, ...] = tuple(word.strip() for word in draw.shuffled(pair)) if divided else ("",)
        nameless = ValueFactory(setting.banks, setting.tongue, "")
        self.shop = ValueFactory(setting.banks, setting.tongue, nameless.name("currency", draw))
        self.name = draw.pick(domain.sections["family"]).write(lambda slot: nameless.name(slot, draw), draw)
        self._first_rank = draw.between(1, 4)
        self._values: dict[tuple[Event, str, str], Value] = {}
        self._days: dict[Event, date] = {}
        self._event_names: dict[tuple[Event, Template], str] = {}

    @cached_property
    def events(self) -> list[Event]:
        """All its events, the earliest first."""
        return [Event(edition, variant) for edition in range(EDITIONS) for variant in range(len(self.variants))]

    def day(self, event: Event) -> date:
        """When it took place: between February and October, so that there is time to guess beforehand."""
        if event not in self._days:
            draw = HashRandom(*self.key, "day", event.edition, event.variant)
            self._days[event] = date(self.year(event), 2, 1) + timedelta(days=draw.below(270))
        return self._days[event]

    def year(self, event: Event) -> int:
        """The year of an event."""
        return self.first_year + event.edition

    def value(self, event: Event, relation: str, role: str = TRUE) -> Value:
        """What an event has for a relation; in another role than the true one, what it has not."""
        key = (event, relation, role)
        if key not in self._values:
            draw = HashRandom(*self.key, event.edition, event.variant, relation, role)
            day = self.day(event) if role == TRUE else self._wrong_day(event, draw)
            maker = self.domain.relations[relation].maker
            self._values[key] = self.shop.make(maker, day, draw, lambda: HashRandom(*self.key, relation, "level"))
        return self._values[key]

    def _wrong_day(self, event: Event, draw: HashRandom) -> date:
        return self.day(event) + timedelta(days=draw.between(12, 40))

    def event_name(self, event: Event, draw: HashRandom, section: str = "event") -> str:
        """The event by its full name, in one of its forms, or (section "short") without the family's."""
        template = draw.pick(self.domain.sections[section])
        key = (event, template)
        if key not in self._event_names:
            variant = self.variants[event.variant]
            space = " " if variant and self._setting.banks.lang == "en" else ""
            slots = {
                "fam": self.name,
                "year": str(self.year(event)),
                "nth": self._setting.tongue.ordinal(self._first_rank + event.edition),
                "var": variant + space,
            }
            self._event_names[key] = template.write(slots.__getitem__, draw).replace("s's ", "s' ")
        return self._event_names[key]


def open_setting(lang: Lang) -> SynthSetting:
    """A language's banks with its conventions."""
    tongues: dict[Lang, LanguageRules] = {"en": English(), "zh": Chinese()}
    return SynthSetting(load_banks(lang), tongues[lang])

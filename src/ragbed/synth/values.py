"""Typed values: person, name (place, organisation), title, date, number with unit, percentage, money.

A value knows its surface forms, which documents use, and its aliases, which an answer may use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeAlias

from ragbed.synth.hash_random import HashRandom
from ragbed.synth.language import LanguageRules
from ragbed.synth.phrase_banks import Banks

_Draws: TypeAlias = tuple[HashRandom, Callable[[], HashRandom]]
"""The value's own chance, and how to get its family's."""


class Value(NamedTuple):
    """What an event has for a relation.

    Attributes:
        forms: How documents spell it.
        aliases: What counts as the answer; every form contains one of them.
    """

    forms: tuple[str, ...]
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class ValueFactory:
    """What values are made with.

    Attributes:
        banks: The language's text.
        tongue: Its conventions.
        currency: The money of the family of events.
    """

    banks: Banks
    tongue: LanguageRules
    currency: str

    def name(self, section: str, draw: HashRandom) -> str:
        """Something called as a section of the name bank says."""
        words = self.banks.words.get(section)
        if words is not None:
            return draw.pick(words)
        return draw.pick(self.banks.names[section]).write(lambda slot: self.name(slot, draw), draw)

    def make(self, maker: tuple[str, ...], day: date, draw: HashRandom, level: Callable[[], HashRandom]) -> Value:
        """A value of the type that a relation's header names.

        Args:
            maker: The type and its arguments.
            day: When the event took place.
            draw: Where the value's chance comes from.
            level: Gives what its magnitude comes from, the same for all events of a family: a company's
                sales do not grow a hundredfold from one quarter to the next.
        """
        kind, *arguments = maker
        return _MAKERS[kind](self, arguments, day, (draw, level))


def _person(shop: ValueFactory, _: list[str], __: date, draws: _Draws) -> Value:
    name = shop.name("someone", draws[0])
    last = name.rsplit(" ", 1)[-1]
    return Value((name,), (name, last) if last != name else shop.tongue.name_aliases(name))


def _named(shop: ValueFactory, arguments: list[str], _: date, draws: _Draws) -> Value:
    name = shop.name(arguments[0], draws[0])
    return Value((name,), shop.tongue.name_aliases(name))


def _title(shop: ValueFactory, arguments: list[str], _: date, draws: _Draws) -> Value:
    title = shop.name(arguments[0], draws[0])
    return Value((title,), (title,))


def _date(shop: ValueFactory, _: list[str], day: date, __: _Draws) -> Value:
    forms = shop.tongue.date_forms(day)
    return Value(forms, forms)


def _number(shop: ValueFactory, arguments: list[str], _: date, draws: _Draws) -> Value:
    low, high, step, units = arguments
    decimals = len(step.partition(".")[2])
    count = _near(round(float(low) / float(step)), round(float(high) / float(step)), draws[0], draws[1]())
    number = f"{count * float(step):.{decimals}f}"
    forms = tuple(form for unit in units.split("|") for form in shop.tongue.number_forms(number, unit))
    return Value(forms, shop.tongue.with_variants(forms))


def _near(low: int, high: int, draw: HashRandom, level: HashRandom) -> int:
    """A whole number within about half and double of the family's level."""
    centre = level.between(low, high)
    return draw.between(max(low, centre * 3 // 5), min(high, centre * 8 // 5))


def _percent(shop: ValueFactory, arguments: list[str], _: date, draws: _Draws) -> Value:
    low, high = map(int, arguments)
    tenths = draws[0].between(low * 10 + 1, high * 10)
    forms = shop.tongue.percent_forms(f"{tenths // 10}.{tenths % 10 or 5}")
    return Value(forms, forms)


def _money(shop: ValueFactory, arguments: list[str], _: date, draws: _Draws) -> Value:
    """Two or three digits that mean something, then zeros; the bounds say how many digits there are in all."""
    draw, level = draws[0], draws[1]()
    scale = 10 ** max(level.between(len(arguments[0]) - 1, len(arguments[1]) - 1) - 1, 0)
    amount = _near(11, 99, draw, level) * scale
    if draw.chance(40):
        amount += draw.between(1, 9) * scale // 10
    forms = shop.tongue.money_forms(amount, shop.currency)
    return Value(forms, shop.tongue.with_variants(forms))


_MAKERS: dict[str, Callable[[ValueFactory, list[str], date, _Draws], Value]] = {
    "person": _person,
    "name": _named,
    "title": _title,
    "date": _date,
    "number": _number,
    "percent": _percent,
    "money": _money,
}

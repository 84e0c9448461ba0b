"""Generate typed values: person, name (place, organisation), title, date, number with unit, percentage, money."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from ragbed.synth.hash_random import HashRandom
from ragbed.synth.phrase_banks import Banks


class Value(NamedTuple):
    """The value of a relation of an event.

    Attributes:
        forms: The spellings that documents use.
        aliases: The accepted answers; every form contains one of them.
    """

    forms: tuple[str, ...]
    aliases: tuple[str, ...]


class ValueFactory(NamedTuple):
    """Makes the values of a family of events.

    Attributes:
        banks: The phrase banks of the language.
        currency: The currency of the family.
    """

    banks: Banks
    currency: str

    def make(self, value_type: tuple[str, ...], day: date, draw: HashRandom, level: Callable[[], HashRandom]) -> Value:
        """Return a value of a relation's type.

        Args:
            value_type: The type and its arguments.
            day: The day of the event.
            draw: Generator of the value.
            level: Returns the generator of its magnitude, which all events of a family share: the sales of a company
                do not grow a hundredfold from one quarter to the next.
        """
        rules = self.banks.rules
        match value_type:
            case ("person",):
                name = self.banks.name("someone", draw)
                last = name.rsplit(" ", 1)[-1]
                return Value((name,), (name, last) if last != name else rules.name_aliases(name))
            case ("name", section):
                name = self.banks.name(section, draw)
                return Value((name,), rules.name_aliases(name))
            case ("title", section):
                return _exact((self.banks.name(section, draw),))
            case ("date",):
                return _exact(rules.date_forms(day))
            case ("percent", low, high):
                tenths = draw.between(int(low) * 10 + 1, int(high) * 10)
                return _exact(rules.percent_forms(f"{tenths // 10}.{tenths % 10 or 5}"))
            case ("number", low, high, step, units):
                number = _draw_number(low, high, step, draw, level())
                forms = tuple(form for unit in units.split("|") for form in rules.number_forms(number, unit))
            case ("money", low, high):
                forms = rules.money_forms(_draw_amount(low, high, draw, level()), self.currency)
            case _:
                raise ValueError(f"unknown value type in a phrase bank: {' '.join(value_type)}")
        return Value(forms, rules.with_variants(forms))


def _exact(forms: tuple[str, ...]) -> Value:
    return Value(forms, forms)


def _draw_number(low: str, high: str, step: str, draw: HashRandom, level: HashRandom) -> str:
    decimals = len(step.partition(".")[2])
    steps = _draw_near(round(float(low) / float(step)), round(float(high) / float(step)), draw, level)
    return f"{steps * float(step):.{decimals}f}"


def _draw_amount(low: str, high: str, draw: HashRandom, level: HashRandom) -> int:
    """Return two or three significant digits and zeros; the bounds give the number of digits."""
    scale = 10 ** max(level.between(len(low) - 1, len(high) - 1) - 1, 0)
    amount = _draw_near(11, 99, draw, level) * scale
    if draw.chance(40):
        amount += draw.between(1, 9) * scale // 10
    return amount


def _draw_near(low: int, high: int, draw: HashRandom, level: HashRandom) -> int:
    """Return an integer between about half and double the level of the family."""
    centre = level.between(low, high)
    return draw.between(max(low, centre * 3 // 5), min(high, centre * 8 // 5))

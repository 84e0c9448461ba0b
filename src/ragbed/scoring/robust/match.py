"""Where a reply mentions an answer: the span and the rule that found it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from ragbed.scoring.robust.dates import Date, find_dates, lone_years
from ragbed.scoring.robust.gold import Gold, GoldSlot, Name, compiled
from ragbed.scoring.robust.numerals import SIGNS, WORDS
from ragbed.scoring.robust.prefilter import look, words
from ragbed.scoring.robust.quantities import Quantity, find_quantities
from ragbed.scoring.robust.units import LOOSE

MOST_MENTIONS = 64
"""Of one answer that are looked at: a reply that says more has made its point."""


_TITLES = words(
    "Mr Mrs Ms Miss Dr Sir Lord Lady Professor Prof President Director Minister Mayor Judge Captain Coach Author "
    "The By And Is Was"
)


_NO_DIGIT = re.compile("[^0-9]+")


class Mention(NamedTuple):
    """A stretch of a folded reply that says an answer."""

    start: int
    end: int
    rule: str


class FoldedResponse:
    """A folded reply, and what is found in it when first asked for.

    Args:
        text: The reply, folded.
        context: Unfolded texts in which people may share a family name: the reply and the documents.
    """

    def __init__(self, text: str, context: Sequence[str] = ()) -> None:
        self.text, self.context, self.seen = text, context, look(text)

    @cached_property
    def _dated(self) -> tuple[list[Date], str]:
        return find_dates(self.text, self.seen)

    @property
    def dates(self) -> list[Date]:
        """Every date."""
        return self._dated[0]

    @cached_property
    def years(self) -> list[Date]:
        """Every bare year."""
        return lone_years(self._dated[1])

    @cached_property
    def digits(self) -> str:
        """Its digits, and nothing between them."""
        return _NO_DIGIT.sub("", self.text)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Every quantity outside the dates."""
        return find_quantities(self._dated[1], self.seen)


def find_mentions(slot: GoldSlot, gold: Gold, reading: FoldedResponse) -> list[Mention]:
    """Where a reply says one part of an answer, in any of its forms."""
    found = [*_names(slot, reading)]
    if slot.dates:
        found += _dates(slot, gold, reading)
    if slot.quantities and _may_say(slot, reading):
        found += _quantities(slot, gold, reading)
    some = sorted(set(found))[:MOST_MENTIONS]
    return [one for one in some if not any(_contains(other, one) for other in some)]


def _may_say(slot: GoldSlot, reading: FoldedResponse) -> bool:
    """Whether at a glance a text may have one of the numbers: in digits, in Chinese numerals or in words."""
    if not reading.seen.isdisjoint(WORDS) or any(one.run in reading.digits for one in slot.digits):
        return True
    return not reading.seen.isdisjoint(SIGNS) and any(
        not any(reading.seen.isdisjoint(signs) for signs in one.signs) for one in slot.digits
    )


def drop_contained(owned: list[list[Mention]]) -> list[list[Mention]]:
    """Leaves out what is only a part of a longer mention of another answer: 70 in 170, 中国 in 中国银行."""
    kept = []
    for number, mentions in enumerate(owned):
        others = [other for place, rest in enumerate(owned) if place != number for other in rest]
        kept.append([one for one in mentions if not any(_contains(other, one) for other in others)])
    return kept


def _contains(longer: Mention, shorter: Mention) -> bool:
    inside = longer.start <= shorter.start and shorter.end <= longer.end
    return inside and longer.end - longer.start > shorter.end - shorter.start


def _names(slot: GoldSlot, reading: FoldedResponse) -> Iterator[Mention]:
    for name in slot.names:
        if name.key in reading.text and (name.bearers is None or _is_unique(name, reading.context)):
            rule = "name.surname" if name.bearers else "name"
            matches = compiled(name.pattern).finditer(reading.text)
            yield from (Mention(*match.span(), rule) for match in islice(matches, MOST_MENTIONS))


def _is_unique(name: Name, context: Sequence[str]) -> bool:
    """Whether nobody else of that family name is spoken of."""
    others = {given for text in context for given in compiled(name.bearers).findall(text)} if name.bearers else set()
    return all(name.given.startswith(given) or name.given.startswith(f"{given[0]}.") for given in others - _TITLES)


def _dates(slot: GoldSlot, gold: Gold, reading: FoldedResponse) -> Iterator[Mention]:
    only_year = any(wanted[1:3] == (None, None) for wanted in slot.dates)
    for date in reading.dates + reading.years if only_year else reading.dates:
        if date.denies(slot.fullest_date):  # 30 May 2018 is not '30 May', also called 30 May 2017
            continue
        if any(date.tells(wanted) for wanted in slot.dates):
            yield Mention(date.start, date.end, "date")
        elif any(date.tells(wanted, gold.asked) for wanted in slot.dates):
            yield Mention(date.start, date.end, "date.asked")


def _quantities(slot: GoldSlot, gold: Gold, reading: FoldedResponse) -> Iterator[Mention]:
    wanted = {(one.value, one.unit) for one in slot.quantities}
    # '3 matches and 5 goals' does not say '3 goals'.
    others = {one.value for one in reading.quantities if one.unit and one.unit in slot.nouns}
    for one in reading.quantities:
        if (one.value, one.unit) in wanted:
            yield Mention(one.start, one.end, "number")
        elif _stands_for(one, wanted, gold) and (not one.unit or others <= {one.value}):
            yield Mention(one.start, one.end, "number.unit")


def _stands_for(said: Quantity, wanted: set[tuple[Decimal, str]], gold: Gold) -> bool:
    return any(said.value == value and _fits(said.unit, unit, gold) for value, unit in wanted)


def _fits(said: str, wanted: str, gold: Gold) -> bool:
    """Whether a number with one unit may stand for the same number with another."""
    if "%" in (said, wanted):
        return said == wanted or (gold.asks_share and "" in (said, wanted))
    if not said or not wanted:
        return True
    if said.startswith("~"):
        return (wanted.startswith("~") and said == wanted) or wanted in LOOSE
    if wanted.startswith("~"):
        return said in LOOSE
    return said in LOOSE and wanted in LOOSE

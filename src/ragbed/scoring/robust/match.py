"""Find the mentions of an answer in a response, with their spans and matching rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

from ragbed.scoring.robust.dates import Date, find_dates, lone_years
from ragbed.scoring.robust.gold import Gold, GoldSlot, Name, compiled
from ragbed.scoring.robust.numerals import SIGNS, WORDS
from ragbed.scoring.robust.patterns import terms_of, words
from ragbed.scoring.robust.quantities import Quantity, find_quantities
from ragbed.scoring.robust.units import BASES, LOOSE, to_base

MAX_MENTIONS = 64  # maximum number of mentions of an answer to examine

_TITLES = words(
    "Mr Mrs Ms Miss Dr Sir Lord Lady Professor Prof President Director Minister Mayor Judge Captain Coach Author "
    "The By And Is Was"
)
_GIVEN = re.compile(r"\b((?:[A-Z]|[^\W\d_A-Za-z])\w+)[ ·・•]$")
_MEASURES = frozenset(BASES) | {base for base, _ in BASES.values()}
_DIGITS = re.compile("[0-9]+")
# Words that can shorten a number: a dozen, twelve hundred, two and a half million.
_SHORT_FORMS = frozenset({"dozen", "hundred", "half", "quarter", "quarters"})
_JOINED = re.compile(r",? (?:and )?|[又零]?")  # between the parts of a measure, e.g. '2 hours and 5 minutes'


class Mention(NamedTuple):
    """A span of a folded response and the rule that found it."""

    start: int
    end: int
    rule: str


class FoldedResponse:
    """A folded response with its dates and quantities, which are found on first use.

    Args:
        text: The folded response.
        context: Unfolded texts in which people can share a surname: the response and the documents.
    """

    def __init__(self, text: str, context: Sequence[str] = ()) -> None:
        self.text, self.context, self.terms = text, context, terms_of(text)

    @cached_property
    def _dated(self) -> tuple[list[Date], str]:
        return find_dates(self.text, self.terms)

    @property
    def dates(self) -> list[Date]:
        """All dates."""
        return self._dated[0]

    @cached_property
    def years(self) -> list[Date]:
        """All four-digit numbers that may be years."""
        return lone_years(self._dated[1])

    @cached_property
    def digits(self) -> str:
        """The digits without separators."""
        return "".join(_DIGITS.findall(self.text))

    @cached_property
    def quantities(self) -> list[Quantity]:
        """All quantities outside the dates."""
        return find_quantities(self._dated[1], self.terms)


def find_mentions(slot: GoldSlot, gold: Gold, response: FoldedResponse) -> list[Mention]:
    """Return the mentions of one part of an answer, in any form."""
    found = [*_names(slot, response)] if slot.names else []
    if slot.dates:
        found += _dates(slot, gold, response)
    if slot.quantities and _may_contain(slot, response):
        found += _quantities(slot, gold, response)
    if len(found) < 2:
        return found
    mentions = sorted(set(found))[:MAX_MENTIONS]
    return _outside(mentions, mentions)


def _may_contain(slot: GoldSlot, response: FoldedResponse) -> bool:
    """Return whether a text may contain one of the numbers in words, in digits or in Chinese numerals."""
    terms = response.terms
    # 2,400 metres for 2.4 km
    if _is_measure(slot) and (response.digits or not terms.isdisjoint(WORDS) or not terms.isdisjoint(SIGNS)):
        return True
    if any(digits.run in response.digits and compiled(digits.pattern).search(response.text) for digits in slot.digits):
        return True
    if not terms.isdisjoint(_SHORT_FORMS) or (
        not terms.isdisjoint(WORDS) and any(digits.words <= terms for digits in slot.digits)
    ):
        return True
    return not terms.isdisjoint(SIGNS) and any(
        not any(terms.isdisjoint(signs) for signs in digits.signs) for digits in slot.digits
    )


def _is_measure(slot: GoldSlot) -> bool:
    return any(quantity.unit in _MEASURES for quantity in slot.quantities)


def drop_contained(by_answer: list[list[Mention]]) -> list[list[Mention]]:
    """Remove mentions that are part of a longer mention of another answer, e.g. 70 in 170 or 中国 in 中国银行."""
    if sum(map(bool, by_answer)) < 2:
        return by_answer
    kept = []
    for number, mentions in enumerate(by_answer):
        others = [other for at, rest in enumerate(by_answer) if at != number for other in rest] if mentions else []
        kept.append(_outside(mentions, others) if others else mentions)
    return kept


def _outside(mentions: list[Mention], others: list[Mention]) -> list[Mention]:
    return [mention for mention in mentions if not _is_inside(mention, others)]


def _is_inside(mention: Mention, others: list[Mention]) -> bool:
    start, end, _ = mention
    return any(first <= start and end <= last and last - first > end - start for first, last, _ in others)


def _names(slot: GoldSlot, response: FoldedResponse) -> Iterator[Mention]:
    for name in slot.names:
        if name.key in response.text and (name.bearers is None or _is_unique(name, response.context)):
            rule = "name.surname" if name.bearers else "name"
            matches = compiled(name.pattern).finditer(response.text)
            yield from (Mention(*match.span(), rule) for match in islice(matches, MAX_MENTIONS))


def _is_unique(name: Name, context: Sequence[str]) -> bool:
    """Return whether the texts mention no other person with that surname."""
    others = {given for text in context for given in _bearers(text, name)}
    return all(name.given.startswith(given) or name.given.startswith(f"{given[0]}.") for given in others - _TITLES)


def _bearers(text: str, name: Name) -> Iterator[str]:
    """Yield the given names before a surname in a text."""
    at = text.find(name.bearers or "")
    while at >= 0:
        if found := _GIVEN.search(text, max(0, at - 40), at):
            yield found[1]
        at = text.find(name.bearers or "", at + 1)


def _dates(slot: GoldSlot, gold: Gold, response: FoldedResponse) -> Iterator[Mention]:
    only_year = any(wanted[1:3] == (None, None) for wanted in slot.dates)
    for date in response.dates + response.years if only_year else response.dates:
        if date.contradicts(slot.fullest_date):  # 30 May 2018 is not '30 May' if another alias is 30 May 2017
            continue
        if any(date.matches(wanted) for wanted in slot.dates):
            yield Mention(date.start, date.end, "date")
        elif any(date.matches(wanted, gold.question_date) for wanted in slot.dates):
            yield Mention(date.start, date.end, "date.asked")


def _quantities(slot: GoldSlot, gold: Gold, response: FoldedResponse) -> Iterator[Mention]:
    wanted = {(quantity.value, quantity.unit) for quantity in slot.quantities}
    measures = {to_base(*each) for each in wanted} if _is_measure(slot) else set()
    if measures:
        yield from _sums(measures, response)
    # '3 matches and 5 goals' does not mean '3 goals'.
    counts = {found.value for found in response.quantities if found.unit and found.unit in slot.nouns}
    for found in response.quantities:
        if (found.value, found.unit) in wanted or (measures and to_base(found.value, found.unit) in measures):
            yield Mention(found.start, found.end, "number")
        elif any(found.value == value and _are_compatible(found.unit, unit, gold) for value, unit in wanted) and (
            not found.unit or counts <= {found.value}
        ):
            yield Mention(found.start, found.end, "number.unit")


def _sums(measures: set[tuple[Decimal, str]], response: FoldedResponse) -> Iterator[Mention]:
    """Yield the measures in two units, e.g. '42 km and 195 m'."""
    for first, second in pairwise(sorted(response.quantities, key=lambda each: each.start)):
        if first.end <= second.start and _JOINED.fullmatch(response.text, first.end, second.start):
            value, base = to_base(first.value, first.unit)
            more, same = to_base(second.value, second.unit)
            if base == same and first.unit != second.unit and (value + more, base) in measures:
                yield Mention(first.start, second.end, "number")


def _are_compatible(found: str, wanted: str, gold: Gold) -> bool:
    """Return whether a number with one unit can express the same number with another unit."""
    if "%" in (found, wanted):
        return found == wanted or (gold.asks_percentage and "" in (found, wanted))
    if not found or not wanted or found == wanted:
        return True
    if found.startswith("~") and wanted.startswith("~"):
        return False
    return all(unit in LOOSE or unit.startswith("~") for unit in (found, wanted))

"""Find the mentions of an answer in a response, with their spans and the rules that found them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

from ragbed.scoring.robust.dates import Date, find_dates, lone_years
from ragbed.scoring.robust.gold import Gold, GoldSlot, compiled
from ragbed.scoring.robust.name_patterns import Name
from ragbed.scoring.robust.patterns import terms_of
from ragbed.scoring.robust.quantities import JOINED, Quantity, find_partial, find_quantities
from ragbed.scoring.robust.times import Time, find_times
from ragbed.scoring.robust.units import BASES, LOOSE, are_same, to_base

MAX_MENTIONS = 64  # maximum number of mentions of an answer to examine

_MEASURES = frozenset(BASES) | {base for base, _ in BASES.values()}


class Mention(NamedTuple):
    """A span of a folded response and the rule that found it."""

    start: int
    end: int
    rule: str


class FoldedResponse:
    """A folded response with its dates and quantities, which are extracted on first use.

    Args:
        text: The folded response.
        original: The response before folding, without reasoning.
    """

    def __init__(self, text: str, original: str = "") -> None:
        self.text, self.original, self.terms = text, original, terms_of(text)

    @cached_property
    def _dated(self) -> tuple[list[Date], str]:
        return find_dates(self.text, self.terms)

    @property
    def dates(self) -> list[Date]:
        """All dates in the response."""
        return self._dated[0]

    @cached_property
    def years(self) -> list[Date]:
        """All four-digit numbers in the response that could be years."""
        return lone_years(self._dated[1])

    @cached_property
    def times(self) -> list[Time]:
        """All times of day in the response."""
        return list(find_times(self.text))

    @cached_property
    def quantities(self) -> list[Quantity]:
        """All quantities in the response that are not part of a date."""
        return find_quantities(self._dated[1], self.terms)

    @cached_property
    def partial(self) -> set[tuple[int, int]]:
        """The spans of quantities that are only one end of a range or one part of a duration."""
        return find_partial(self.text, self.quantities) if len(self.quantities) > 1 else set()


def find_mentions(slot: GoldSlot, gold: Gold, response: FoldedResponse) -> list[Mention]:
    """Return all mentions of one part of an answer, in any of its forms."""
    found = [*_names(slot, response)] if slot.names else []
    if slot.times:
        found += [Mention(*time[1:], "time") for time in response.times if not slot.times.isdisjoint(time.readings)]
    if slot.dates:
        found += _dates(slot, gold, response)
    if slot.quantities:
        found += _quantities(slot, gold, response)
    if len(found) < 2:
        return found
    mentions = sorted(set(found))[:MAX_MENTIONS]
    return _outside(mentions, mentions)


def _is_measure(slot: GoldSlot) -> bool:
    return any(quantity.unit in _MEASURES for quantity in slot.quantities)


def drop_contained(by_answer: list[list[Mention]]) -> list[list[Mention]]:
    """Remove mentions that are part of a longer mention of another answer, e.g. 70 in 170 or 中国 in 中国银行.

    If the same words mention two answers, an exact mention takes precedence over a variant ('John Adams' is not the
    false answer 'John Quincy Adams').
    """
    if sum(map(bool, by_answer)) < 2:
        return by_answer
    kept = []
    for number, mentions in enumerate(by_answer):
        others = [other for at, rest in enumerate(by_answer) if at != number for other in rest] if mentions else []
        exact = {(start, end) for start, end, rule in others if "." not in rule}
        outside = _outside(mentions, others) if others else mentions
        kept.append([each for each in outside if "." not in each.rule or (each.start, each.end) not in exact])
    return kept


def _outside(mentions: list[Mention], others: list[Mention]) -> list[Mention]:
    return [mention for mention in mentions if not _is_inside(mention, others)]


def _is_inside(mention: Mention, others: list[Mention]) -> bool:
    start, end, _ = mention
    return any(first <= start and end <= last and last - first > end - start for first, last, _ in others)


def _names(slot: GoldSlot, response: FoldedResponse) -> Iterator[Mention]:
    for name in slot.names:
        is_written = not name.written or (response.original and compiled(name.written).search(response.original))
        if name.key in response.text and is_written:
            for start, end in islice(_spans(name, response.text), MAX_MENTIONS):
                yield Mention(start, end, name.rule)


def _spans(name: Name, text: str) -> Iterator[tuple[int, int]]:
    if name.pattern != name.key:
        yield from (match.span() for match in compiled(name.pattern).finditer(text))
        return
    at = text.find(name.key)  # most Chinese names have no other pattern, and compiling it takes longer
    while at >= 0:
        yield at, at + len(name.key)
        at = text.find(name.key, at + len(name.key))


def _dates(slot: GoldSlot, gold: Gold, response: FoldedResponse) -> Iterator[Mention]:
    only_year = any(wanted[1:3] == (None, None) for wanted in slot.dates)
    for date in response.dates + response.years if only_year else response.dates:
        if date.contradicts(slot.fullest_date):  # e.g. 30 May 2018 for the aliases '30 May' and '30 May 2017'
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
        is_same = (found.value, found.unit) in wanted or (measures and to_base(found.value, found.unit) in measures)
        if is_same:
            yield Mention(found.start, found.end, "number")
        elif any(found.value == value and _are_compatible(found.unit, unit, gold) for value, unit in wanted) and (
            not found.unit or counts <= {found.value}
        ):
            yield Mention(found.start, found.end, "number.unit")


def _sums(measures: set[tuple[Decimal, str]], response: FoldedResponse) -> Iterator[Mention]:
    """Yield mentions of a quantity that is written in two units, e.g. '42 km and 195 m'."""
    for first, second in pairwise(sorted(response.quantities, key=lambda each: each.start)):
        if first.end <= second.start and JOINED.fullmatch(response.text, first.end, second.start):
            value, base = to_base(first.value, first.unit)
            more, same = to_base(second.value, second.unit)
            if base == same and first.unit != second.unit and (value + more, base) in measures:
                yield Mention(first.start, second.end, "number")


def _are_compatible(found: str, wanted: str, gold: Gold) -> bool:
    """Return whether two units are compatible, i.e. whether the same number in either unit is a match."""
    if "%" in (found, wanted):
        return found == wanted or (gold.asks_percentage and "" in (found, wanted))
    if not found or not wanted or are_same(found, wanted) or {found, wanted} == {"age", "year"}:
        return True
    if found.startswith("~") and wanted.startswith("~"):
        return False
    return all(unit in LOOSE or unit.startswith("~") for unit in (found, wanted))

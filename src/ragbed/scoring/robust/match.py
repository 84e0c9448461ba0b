"""Find the mentions of an answer in a response, with their spans and the rules that found them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

from ragbed.scoring.robust.dates import Date, find_dates, lone_years
from ragbed.scoring.robust.gold import Gold, GoldSlot, compiled
from ragbed.scoring.robust.name_patterns import Name
from ragbed.scoring.robust.patterns import lazy, terms_of, words
from ragbed.scoring.robust.quantities import JOINED, Quantity, find_partial, find_quantities
from ragbed.scoring.robust.times import Time, find_times
from ragbed.scoring.robust.units import BASES, LOOSE, are_same, to_base

MAX_MENTIONS = 64  # maximum number of mentions of an answer to examine

# Capitalised words before a surname that are not given names: titles, and the first words of sentences.
_TITLES = words(
    "Mr Mrs Ms Miss Dr Sir Lord Lady Professor Prof President Director Minister Mayor Judge Captain Coach Author "
    "Chancellor Senator Governor Secretary Chairman Filmmaker "
    "The By And Is Was But Or So When While After Before For In On At To From With As If Since Because Although "
    "Though However Then Now Here That This Where Who Did Does Has Had Both Even Only Unlike Despite Until "
    "Probably Possibly Perhaps Maybe Likely Apparently Presumably"
)
_GIVEN = lazy(r"\b((?:[A-Z]|[^\W\d_A-Za-z])\w+)[ ·・•‧∙⋅･●]$")
_MEASURES = frozenset(BASES) | {base for base, _ in BASES.values()}
_APPROXIMATELY = lazy(
    r"(?:\b(?:about|around|roughly|approximately|approx\.|some|circa|close to"
    r"|(?P<above>just over))|(?P<below>\b(?:nearly|almost|just (?:under|below))|近)|[~≈约]|差不多|大概) ?[$€£¥]?$"
)
_ROUNDED_DIGITS = range(3, 16)  # allowed numbers of significant digits in a rounded number; fewer are too imprecise
_LOOSEST = 2
_MIN_ROUNDED = 1000  # smallest gold number that a response may round
# Matches the text between a year and the day that follows it, as in 'in 1985, on May 3'.
_YEAR_TO_DAY = lazy(r", ?(?:on (?:the )?)?| on (?:the )?")
_SAME_YEAR_BEFORE = lazy(r"(?:同|当|该)年的?$|\b(?:that|the same) (?:same )?year,? (?:on )?$")
_SAME_YEAR_AFTER = lazy(r",? (?:of |in )?(?:that|the same) (?:same )?year\b")
# Matches the end of a sentence, or words that refer to a year other than the last one named.
_OTHER_YEAR = lazy(
    r"[.!?;。\n]|\b(?:next|following|previous|preceding) year|\byears? (?:later|earlier|after|before|ago)"
    r"|[次翌明去前后隔]年|第.{1,2}年|年[前后]"
)
_OTHER_YEAR_AFTER = lazy(
    r",? (?:(?:of |in )?(?:the )?(?:next|following|previous|preceding) year|\w+ years? (?:later|earlier))"
)


class Mention(NamedTuple):
    """A span of a folded response and the rule that found it."""

    start: int
    end: int
    rule: str


class FoldedResponse:
    """A folded response with its dates and quantities, which are extracted on first use.

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
        """All dates in the response."""
        return self._dated[0]

    @cached_property
    def years(self) -> list[Date]:
        """All four-digit numbers in the response that could be years."""
        return lone_years(self._dated[1])

    @cached_property
    def _named_years(self) -> list[Date]:
        return sorted((each for each in self.dates + self.years if each.year), key=lambda each: each.end)

    def with_year(self, date: Date) -> Date:
        """Add the preceding year to a date without a year, as in 'in 1985, on May 3' or 'May 3 of that year'."""
        at = bisect_right(self._named_years, date.start, key=lambda each: each.end)
        if not at or not date.month:
            return date
        last = self._named_years[at - 1]
        before = _SAME_YEAR_BEFORE.search(self.text, max(last.end, date.start - 24), date.start)
        is_same = (before or _SAME_YEAR_AFTER.match(self.text, date.end)) and not _OTHER_YEAR.search(
            self.text, last.end, before.start() if before else date.start
        )
        is_next_to = _YEAR_TO_DAY.fullmatch(self.text, last.end, date.start) and not (
            last.month or _OTHER_YEAR_AFTER.match(self.text, date.end)
        )
        return date._replace(year=last.year) if is_same or is_next_to else date

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
        best: dict[tuple[int, int], int] = {}
        for start, end, rule in others:
            best[start, end] = min(_looseness(rule), best.get((start, end), _LOOSEST))
        outside = _outside(mentions, others) if others else mentions
        kept.append([each for each in outside if _looseness(each.rule) <= best.get((each.start, each.end), _LOOSEST)])
    return kept


def _looseness(rule: str) -> int:
    """Return 0 for a rule that finds exact mentions, 1 for variants and 2 for rounded numbers."""
    return _LOOSEST if rule == "number.rounded" else int("." in rule)


def _outside(mentions: list[Mention], others: list[Mention]) -> list[Mention]:
    return [mention for mention in mentions if not _is_inside(mention, others)]


def _is_inside(mention: Mention, others: list[Mention]) -> bool:
    start, end, _ = mention
    return any(first <= start and end <= last and last - first > end - start for first, last, _ in others)


def _names(slot: GoldSlot, response: FoldedResponse) -> Iterator[Mention]:
    for name in slot.names:
        if name.key not in response.text or (name.written and not _is_written(name, response.context)):
            continue
        if name.bearers is None or _is_unique(name, response.context):
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


def _is_written(name: Name, context: Sequence[str]) -> bool:
    """Return whether the unfolded response contains a name with its capital letters."""
    return bool(context) and compiled(name.written).search(context[0]) is not None


def _is_unique(name: Name, context: Sequence[str]) -> bool:
    """Return whether the context mentions no other person with the same surname."""
    others = {given for text in context for given in _bearers(text, name)}
    return all(name.given.startswith((given, f"{given[0]}.")) for given in others - _TITLES)


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
        if date.contradicts(slot.fullest_date):  # e.g. 30 May 2018 for the aliases '30 May' and '30 May 2017'
            continue
        if any(date.matches(wanted) for wanted in slot.dates):
            yield Mention(date.start, date.end, "date")
        elif any(date.matches(wanted, gold.question_date) for wanted in slot.dates):
            yield Mention(date.start, date.end, "date.asked")
        elif date.year is None and any(response.with_year(date).matches(wanted) for wanted in slot.dates):
            yield Mention(date.start, date.end, "date")


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
        elif _is_rounded(found, wanted, gold, response):
            yield Mention(found.start, found.end, "number.rounded")
        elif any(found.value == value and _are_compatible(found.unit, unit, gold) for value, unit in wanted) and (
            not found.unit or counts <= {found.value}
        ):
            yield Mention(found.start, found.end, "number.unit")


def _is_rounded(found: Quantity, wanted: set[tuple[Decimal, str]], gold: Gold, response: FoldedResponse) -> bool:
    """Return whether a number is marked as approximate and equals an expected number rounded to at least 3 digits."""
    about = _APPROXIMATELY.search(response.text, max(0, found.start - 16), found.start)
    digits = len(found.value.normalize().as_tuple().digits) if about else 0
    if about is None or digits not in _ROUNDED_DIGITS:
        return False
    rounded = (
        value
        for value, unit in wanted
        if found.value != value >= _MIN_ROUNDED
        and value.quantize(Decimal(1).scaleb(value.adjusted() - digits + 1), ROUND_HALF_UP) == found.value
        and _are_compatible(found.unit, unit, gold)
    )
    if about["below"]:  # 'nearly 12,400' is less than 12,400
        return any(value < found.value for value in rounded)
    return any(value > found.value or not about["above"] for value in rounded)


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

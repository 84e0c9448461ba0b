"""Prepare answers for matching: read each alias as a date, a quantity or a name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragbed.schema import Answer, Lang
from ragbed.scoring.robust.dates import Date, find_dates, lone_years
from ragbed.scoring.robust.name_patterns import (
    ASKS_WHO,
    EDGES,
    GENERATION,
    SCORE,
    Name,
    as_name,
    find_surname,
    with_gaps,
)
from ragbed.scoring.robust.normalise import fold, fold_question
from ragbed.scoring.robust.patterns import Terms, lazy, terms_of
from ragbed.scoring.robust.quantities import Quantity, as_sum, find_quantities
from ragbed.scoring.robust.times import read_time
from ragbed.scoring.robust.units import LOOSE, UNITS
from ragbed.scoring.robust.variants import spellings

_ASKS_WHEN = lazy(r"\bwhen\b|\byear\b|\bdate\b|\bday\b|年|时候|何时|日期|哪天|哪一天|时间")
# Spaces next to Han characters are removed from questions, so a word can be next to a Han character.
_ASKS_PERCENTAGE = lazy(
    r"%|per ?cent|(?<![a-z])(?:share|shares of|(?:birth|death)?rates?|turnout)(?![a-z])", "%|百分|率|比例"
)
_HOW_MANY = lazy(r"\bhow many ([a-z]+)")
_NO_LETTER = lazy(r"\W")
_LONG_WORD = lazy(r"[a-z]{3,}")
_COMMA = lazy("[,，]")
_COUNTED = frozenset({"person", "thing", "item"})
_NO_DATE = Date(None, None, None, 0, 0)


class GoldSlot(NamedTuple):
    """A part of the answer with its alternative forms.

    Attributes:
        times: The times of day, as minutes since midnight.
        nouns: The nouns that the quantities count.
        fullest_date: The parts of all dates together.
        forms: The normalised forms, to detect whether another answer means the same.
    """

    names: tuple[Name, ...]
    dates: tuple[Date, ...]
    quantities: tuple[Quantity, ...]
    times: frozenset[int]
    nouns: frozenset[str]
    fullest_date: Date
    forms: frozenset[object]

    @property
    def kind(self) -> str:
        """The kind of answer. Only answers of the same kind can be mistaken for each other."""
        if self.dates:
            return "date"
        if self.quantities:
            return f"quantity {self.quantities[0].unit}"
        return "name"


class Gold(NamedTuple):
    """The prepared true and false answers for a case.

    Attributes:
        question_date: The parts of a date that the question gives.
        asks_percentage: Whether the question asks for a percentage, so that the sign can be omitted.
        fake_is_gold: Whether the false answer means the same as the true one and cannot mislead.
        rivals: Values that documents give as an answer and that are neither the true nor the false one.
    """

    lang: Lang
    slots: tuple[GoldSlot, ...]
    fakes: tuple[GoldSlot, ...]
    question_date: Date
    asks_percentage: bool
    fake_is_gold: bool
    rivals: tuple[GoldSlot, ...] = ()


compiled = lru_cache(maxsize=16_384)(re.compile)  # The cache in `re` holds only a few hundred patterns.


@lru_cache(maxsize=16_384)
def prepare(
    question: str, answer: Answer, fake: Answer | None, lang: Lang, stated: frozenset[str] = frozenset()
) -> Gold:
    """Read the true and the false answer; the result is cached because a question occurs under many conditions.

    Args:
        question: The question.
        answer: The true answer.
        fake: The false answer, if there is one.
        lang: The language.
        stated: Recorded values of the documents that do not support the answer.
    """
    gold, folded, known = _read_answers(question, answer, fake, lang)
    if not stated:
        return gold
    rivals = [_slot((value,), folded, lang) for value in sorted(stated)]
    return gold._replace(rivals=tuple([rival for rival in rivals if rival.forms and rival.forms.isdisjoint(known)]))


@lru_cache(maxsize=16_384)  # The result does not depend on the documents, which differ between cases.
def _read_answers(
    question: str, answer: Answer, fake: Answer | None, lang: Lang
) -> tuple[Gold, str, frozenset[object]]:
    """Return the prepared answers (without `rivals`), the folded question and all answer forms."""
    folded = fold_question(question, lang)
    slots = tuple(_slot(aliases, folded, lang) for aliases in answer)
    fakes = tuple(_slot(aliases, folded, lang) for aliases in fake or ())
    dates = find_dates(folded, terms_of(folded))[0] + lone_years(folded)
    same = any(false.forms & true.forms for false in fakes for true in slots)
    gold = Gold(
        lang=lang,
        slots=slots,
        fakes=() if same else fakes,
        question_date=_merge_dates(dates)._replace(day=None) if dates else _NO_DATE,
        asks_percentage=_ASKS_PERCENTAGE.search(folded) is not None,
        fake_is_gold=same,
    )
    return gold, folded, frozenset[object]().union(*(slot.forms for slot in (*slots, *fakes)))


def _merge_dates(dates: list[Date]) -> Date:
    """Return a date with the parts on which all given dates agree."""
    if not dates:
        return _NO_DATE
    parts = ({date[at] for date in dates} - {None} for at in range(3))
    year, month, day = (values.pop() if len(values) == 1 else None for values in parts)
    return Date(year, month, day, 0, 0)


@lru_cache(maxsize=16_384)  # All cases for a question have the same answer, and most have the same rival answers.
def _slot(aliases: tuple[str, ...], question: str, lang: Lang) -> GoldSlot:
    names: list[Name] = []
    dates: list[Date] = []
    quantities: list[Quantity] = []
    nouns: set[str] = set()
    forms: set[object] = set()
    times: set[int] = set()
    for alias in _variants(aliases):
        folded = fold(alias, lang).strip(EDGES)
        if not folded:
            continue
        forms.add(_NO_LETTER.sub("", folded))
        terms = terms_of(folded)
        if readings := read_time(folded, question):
            times |= readings
            if SCORE.fullmatch(folded) and (score := as_name(alias, folded, lang)):  # '3:10' can also be a score
                names.append(score)
        elif date := _as_date(folded, terms, question):
            dates.append(date)
            forms.add(date[:3])
        elif amounts := _as_quantities(folded, terms):
            # If an alias has two readings (5.5 m), prefer the one that another alias confirms.
            values = {quantity.value for quantity in quantities}
            quantities += [amount for amount in amounts if amount.value in values] or amounts
            forms |= {(amount.value, amount.unit) for amount in amounts}
            nouns |= {amount.unit for amount in amounts} | set(_LONG_WORD.findall(folded))
        elif name := as_name(alias, folded, lang):
            surname = find_surname(alias, folded, question)
            names.append(name._replace(given=surname.given) if surname else name)
            if surname and surname.key not in {fold(other, lang) for other in aliases}:
                names.append(surname)
            if phrase := with_gaps(alias, folded, lang):
                names.append(phrase)
    return GoldSlot(
        names=tuple(names),
        dates=tuple(dates),
        times=frozenset(times),
        quantities=tuple({(quantity.value, quantity.unit): quantity for quantity in quantities}.values()),
        nouns=frozenset(nouns) | {asked_unit(question)} - {""},
        fullest_date=_merge_dates(dates),
        forms=frozenset(forms),
    )


def asked_unit(question: str) -> str:
    """Return the unit that a folded question asks for, e.g. `person` for 'how many people', or an empty string."""
    counted = _HOW_MANY.search(question) if "how many" in question else None
    return UNITS.get(counted[1], f"~{counted[1].removesuffix('s')}") if counted else ""


def _variants(aliases: tuple[str, ...]) -> list[str]:
    """Return the aliases, their other spellings, and the parts of aliases such as 'J·K·罗琳,J.K.罗琳'."""
    found = list(aliases)
    for alias in aliases:
        parts = _COMMA.split(alias) if "," in alias or "，" in alias else ()
        if len(parts) > 1 and len({re.sub(r"[\W_]", "", part).casefold() for part in parts}) == 1:
            found += parts
        found += spellings(alias)
        found += [short for short in [GENERATION.sub("", alias)] if short != alias]
    return found


def _as_date(folded: str, terms: Terms, question: str) -> Date | None:
    for date in find_dates(folded, terms)[0]:
        if date.start == 0 and date.end == len(folded):
            return date
    years = lone_years(folded) if len(folded) == 4 else ()
    return years[0] if years and _ASKS_WHEN.search(question) else None


def _as_quantities(folded: str, terms: Terms) -> list[Quantity]:
    """Return the readings of an alias as a number with a unit; names such as '7 Rings' or 三亚 have no such reading."""
    if SCORE.fullmatch(folded):
        return []
    quantities = find_quantities(folded, terms)
    if total := as_sum(folded, quantities):
        return [total]
    return [each for each in quantities if each.start == 0 and _may_be_followed_by(each, folded[each.end :])]


def _may_be_followed_by(quantity: Quantity, rest: str) -> bool:
    if rest and rest[0] >= "\u4e00":  # a noun follows the measure word, e.g. 员工 in 39730名员工
        return quantity.unit in _COUNTED and len(rest) <= 4
    return not rest or (quantity.unit in LOOSE and re.fullmatch(r"(?: [a-z]+){1,3}", rest) is not None)


class Asked(NamedTuple):
    """The kind of answer that a question asks for.

    Attributes:
        question: The question.
        text: The folded question.
        asks_who: Whether it asks for a person.
        unit: The unit of the counted noun, or nothing.
    """

    question: str
    text: str
    asks_who: bool
    unit: str


@lru_cache(maxsize=16_384)
def read_question(question: str, lang: Lang) -> Asked:
    """Return the kind of answer that a question asks for."""
    text = fold_question(question, lang)
    return Asked(
        question=question,
        text=text,
        asks_who=ASKS_WHO.search(text) is not None,
        unit=asked_unit(text),
    )

"""An answer made ready for matching: each alias read as a date, a quantity or a name."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ragbed.schema import Answer, Lang
from ragbed.scoring.robust.dates import Date, find_dates, lone_years
from ragbed.scoring.robust.normalise import fold
from ragbed.scoring.robust.numerals import Digits, digits_of
from ragbed.scoring.robust.prefilter import look
from ragbed.scoring.robust.quantities import Quantity, find_quantities
from ragbed.scoring.robust.units import LOOSE

_EDGES = " \n\"'.,;:!?。、《》〈〉()[]<>"
_RUN = re.compile(r"[a-z]+|[0-9]+|[^\W\da-z_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ACRONYM = re.compile(r"\b[A-Z]{2,4}\b")
_PARENTHESIS = re.compile(r"^([^()（）]+?)\s*[(（]([^()（）]+)[)）]$")
_SCORE = re.compile(r"([0-9]+) ?(?:-|:|比|to) ?([0-9]+)")
_CAPITAL_AFTER_NUMBER = re.compile(r"^[\d.,]+ [A-Z]")
_ASKS_WHEN = re.compile(r"\bwhen\b|\byear\b|\bdate\b|\bday\b|年|时候|何时|日期|哪天|哪一天|时间")
_ASKS_WHO = re.compile(
    r"\bwho(?:m|se)?\b|\bwhich (?:director|author|architect|person|artist|designer|player)\b|谁|哪位|哪一位|人是"
)
_ASKS_SHARE = re.compile(r"%|per ?cent|percentage|share|rate|turnout|百分|率|比例")
_NO_LETTER = re.compile(r"\W")
_LONG_WORD = re.compile(r"[a-z]{3,}")
_COMMA = re.compile("[,，]")
_NO_DATE = Date(None, None, None, 0, 0)
_COUNTED = frozenset({"person", "thing", "item"})


class Name(NamedTuple):
    """An alias that is neither a date nor a quantity."""

    key: str
    """Its longest run of letters or digits: where this is missing, the name is."""
    pattern: str
    """For `compiled`, which most replies do not need: compiling is half the work of reading an answer."""
    bearers: str | None = None
    """Of a family name that the data do not list by itself: finds, in unfolded text, the given names before it."""
    given: str = ""
    """The given name of the one who is meant."""


class GoldSlot(NamedTuple):
    """A part of the answer: the forms of which any will do."""

    names: tuple[Name, ...]
    dates: tuple[Date, ...]
    quantities: tuple[Quantity, ...]
    nouns: frozenset[str]
    """What the quantities count, in the answer's own words."""
    fullest_date: Date
    """All that the dates say together."""
    digits: tuple[Digits, ...]
    """What each quantity looks like at a glance."""
    forms: frozenset[object]
    """What it says, for telling whether another answer says the same."""

    @property
    def kind(self) -> str:
        """What may be mixed up with it: an answer of the same kind."""
        if self.dates:
            return "date"
        if self.quantities:
            return f"quantity {self.quantities[0].unit}"
        return "name"


class Gold(NamedTuple):
    """All that is known of a case's answers before a reply is read."""

    slots: tuple[GoldSlot, ...]
    fakes: tuple[GoldSlot, ...]
    asked: Date | None
    """What the question says of a date."""
    asks_share: bool
    """Whether the question is about per cent, so that the sign may be left out."""
    fake_is_gold: bool
    """The false answer says the same as the true one: nobody can be misled by it."""


compiled = lru_cache(maxsize=16_384)(re.compile)
"""A pattern of a name, kept: `re` itself keeps only a few hundred."""


@lru_cache(maxsize=16_384)
def prepare(question: str, answer: Answer, fake: Answer | None, lang: Lang) -> Gold:
    """Reads an answer and a false answer; the same case is asked under many conditions, so the work is kept."""
    asked = fold(question, lang)
    dates = find_dates(asked, look(asked))[0] + lone_years(asked)
    known = _together(dates)._replace(day=None)
    slots = tuple(_slot(aliases, asked, lang) for aliases in answer)
    fakes = tuple(_slot(aliases, asked, lang) for aliases in fake or ())
    same = any(false.forms & true.forms for false in fakes for true in slots)
    return Gold(
        slots=slots,
        fakes=() if same else fakes,
        asked=known,
        asks_share=_ASKS_SHARE.search(asked) is not None,
        fake_is_gold=same,
    )


def _together(dates: list[Date]) -> Date:
    """What dates say, where they do not contradict each other."""
    if not dates:
        return _NO_DATE
    year, month, day = (_only({date[place] for date in dates}) for place in range(3))
    return Date(year, month, day, 0, 0)


def _only(values: set[int | None]) -> int | None:
    """The one value there is; None of several or of none."""
    told = values - {None}
    return told.pop() if len(told) == 1 else None


def _slot(aliases: tuple[str, ...], asked: str, lang: Lang) -> GoldSlot:
    names: list[Name] = []
    dates: list[Date] = []
    quantities: list[Quantity] = []
    nouns: set[str] = set()
    forms: set[object] = set()
    for alias in _variants(aliases):
        folded = fold(alias, lang).strip(_EDGES)
        if not folded:
            continue
        forms.add(_NO_LETTER.sub("", folded))
        if date := _as_date(folded, asked):
            dates.append(date)
            forms.add(date[:3])
        elif read := _as_quantities(alias, folded):
            quantities += _settle(read, quantities)
            forms |= {(one.value, one.unit) for one in read}
            nouns |= {one.unit for one in read} | set(_LONG_WORD.findall(folded))
        elif name := _as_name(alias, folded, lang):
            names.append(name)
            names += _surname(alias, folded, asked)
    return GoldSlot(
        names=tuple(names),
        dates=tuple(dates),
        quantities=tuple(quantities),
        nouns=frozenset(nouns),
        fullest_date=_together(dates),
        digits=tuple({digits_of(one.value) for one in quantities}),
        forms=frozenset(forms),
    )


def _variants(aliases: tuple[str, ...]) -> list[str]:
    """The aliases; 'A (B)' also as A and as B, and one that lists its own spellings ('J·K·罗琳,J.K.罗琳') apart."""
    found = list(aliases)
    for alias in aliases:
        if match := _PARENTHESIS.match(alias):
            found += match.groups()
        parts = _COMMA.split(alias)
        if len(parts) > 1 and len({re.sub(r"[\W_]", "", part).casefold() for part in parts}) == 1:
            found += parts
    return found


def _as_date(folded: str, asked: str) -> Date | None:
    for date in find_dates(folded, look(folded))[0]:
        if date.start == 0 and date.end == len(folded):
            return date
    years = lone_years(folded)
    return years[0] if years and len(folded) == 4 and _ASKS_WHEN.search(asked) else None


def _as_quantities(alias: str, folded: str) -> list[Quantity]:
    """The readings of an alias that is a number and what it counts; none for names such as '7 Rings' or 三亚."""
    if _CAPITAL_AFTER_NUMBER.match(alias.strip()) or _SCORE.fullmatch(folded):
        return []
    found = [one for one in find_quantities(folded, look(folded)) if one.start == 0]
    return [one for one in found if _is_whole(folded[one.end :], one)]


def _settle(read: list[Quantity], before: list[Quantity]) -> list[Quantity]:
    """Of two readings (5.5 m) the one that another alias has; all where none has."""
    values = {one.value for one in before}
    return [one for one in read if one.value in values] or read


def _is_whole(rest: str, quantity: Quantity) -> bool:
    if not rest:
        return True
    if rest[0] >= "\u4e00":  # 39730名员工: a counting word and its noun
        return quantity.unit in _COUNTED and len(rest) <= 4
    return re.fullmatch(r"(?: [a-z]+){1,3}", rest) is not None and quantity.unit in LOOSE


def _as_name(alias: str, folded: str, lang: Lang) -> Name | None:
    if score := _SCORE.fullmatch(folded):
        first, second = (_either_script(number) for number in score.groups())
        return Name("", rf"(?<![0-9.十-]){first} ?(?:-|:|比|to) ?{second}(?![0-9十]|\.[0-9])")
    spaced = fold(_ACRONYM.sub(lambda match: " ".join(match[0]), _CAMEL.sub("-", alias)), "en").strip(_EDGES)
    words = spaced.replace("&", " and ").removeprefix("the ")
    runs = list(_RUN.finditer(words))
    if not runs:
        return None
    parts = [_escape(runs[0][0])]
    for before, run in pairwise(runs):
        between = words[before.end() : run.start()]
        words_meet = before[0].isalpha() and run[0].isalpha() and min(len(before[0]), len(run[0])) > 1
        apart = lang == "en" and words_meet and between.strip("'-")
        parts += [r"[\W_]{1,3}" if apart else r"[\W_]{0,3}", _escape(run[0])]
    key = max((run[0] for run in runs if run[0] != "and"), key=len, default=runs[0][0])
    return Name(key, _bounded("".join(parts), runs[0][0][0], runs[-1][0][-1]))


def _either_script(number: str) -> str:
    return f"(?:{number}|{'零一二三四五六七八九'[int(number)]})" if len(number) == 1 else number


def _surname(alias: str, folded: str, asked: str) -> list[Name]:
    """The family name of a person, where the question asks for one: the last of two or three words."""
    parts = re.split(r"[ ·]", folded)
    plain = all(part.replace(".", "").replace("-", "").isalpha() for part in parts)
    if len(parts) not in (2, 3) or not plain or not _ASKS_WHO.search(asked):
        return []
    last = parts[-1]
    if len(last) < 3 or last in asked:
        return []
    given, *_, family = re.split(r"[\s·・•]+", alias.strip())
    bearers = rf"\b((?:[A-Z]|[^\W\d_A-Za-z])\w+)[ ·・•]{re.escape(family)}"
    return [Name(last, _bounded(re.escape(last), last[0], last[-1]), bearers, given)]


def _escape(run: str) -> str:
    return "(?:and|&)" if run == "and" else re.escape(run)


def _bounded(pattern: str, first: str, last: str) -> str:
    """No letter or digit may touch a Latin word or a number; Chinese has no such borders."""
    before = r"(?<![a-z0-9])" if first.isascii() else ""
    before += r"(?<![0-9][.,])" if first.isdigit() else ""
    after = r"(?![a-z0-9])" if last.isascii() else ""
    after += r"(?![.,][0-9])" if last.isdigit() else ""
    return before + pattern + after

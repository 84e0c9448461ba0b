"""Dates as far as they are told (a year, a month and a day, a day alone …), wherever they stand in a folded text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ragbed.scoring.robust.numerals import ENGLISH, chinese_value, english_value, year_in_words
from ragbed.scoring.robust.patterns import late
from ragbed.scoring.robust.prefilter import Seen, in_order


class Date(NamedTuple):
    """What is known of a date, and where it stands."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int

    def tells(self, wanted: Date, asked: Date | None = None) -> bool:
        """Whether it is at least as precise as another and agrees with it.

        Args:
            wanted: The date it should be.
            asked: What the question says of it, which an answer need not repeat.
        """
        for mine, theirs, known in zip(self[:3], wanted[:3], asked[:3] if asked else (None,) * 3, strict=True):
            if theirs is not None and (known if mine is None else mine) != theirs:
                return False
        return True

    def denies(self, other: Date) -> bool:
        """Whether both tell a year, a month or a day, and not the same."""
        pairs = zip(self[:3], other[:3], strict=True)
        return any(mine is not None and theirs is not None and mine != theirs for mine, theirs in pairs)


_NAMES = in_order("january february march april may june july august september october november december")
_MONTHS = {name[:length]: number for number, name in enumerate(_NAMES, start=1) for length in (3, len(name))} | {
    "sept": 9
}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_ORDINALS = in_order(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_DAYS = {word: number for number, word in enumerate(_ORDINALS, start=1)} | {
    **{f"twenty-{word}": 20 + number for number, word in enumerate(_ORDINALS[:9], start=1)},
    "thirtieth": 30,
    "thirty-first": 31,
}
# Patterns begin with a character rather than with what must not stand before it: the engine is quick to find those.
_FREE = r"(?<![0-9a-z].)(?<![0-9][.,/-].)"
_DAY = rf"(?P<day>(?:[0-9]{_FREE}[0-9]?(?:st|nd|rd|th)?)|" + "|".join(sorted(_DAYS, key=len, reverse=True)) + r")\b"
_YEAR = r"(?P<year>[12][0-9]{3}(?![0-9])|(?:two thousand|nineteen|eighteen|twenty)(?:[ -](?:and )?[a-z]+){1,2})"
_DIGIT_YEAR = rf"[12]{_FREE}[0-9]{{3}}"
_HAN = "[零〇一二三四五六七八九十]"
_WITH_MONTH_NAMES = [
    late(rf"{_DAY}\s+(?:day\s+)?(?:of\s+)?{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR})?"),
    late(rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:(?:,\s*|\s+)(?:in\s+)?{_YEAR})?"),
    late(rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}"),
]
_IN_DIGITS = [
    late(rf"(?P<year>{_DIGIT_YEAR})[-/.](?P<month>[0-9]{{1,2}})[-/.](?P<day>[0-9]{{1,2}})(?![0-9]|[-/.][0-9])"),
]
_MONTH_AND_DAY = rf"月份?(?:(?P<day>[0-9]{{1,2}}|{_HAN}{{1,3}})[日号])?"
_CHINESE = [
    late(rf"(?P<year>{_DIGIT_YEAR}|[一二]{_HAN}{{3}})年(?P<month>[0-9]{{1,2}}|{_HAN}{{1,2}}){_MONTH_AND_DAY}"),
    late(rf"(?P<month>[0-9](?<![0-9].)[0-9]?|{_HAN}{{1,2}}){_MONTH_AND_DAY}"),
    late(rf"(?P<year>{_DIGIT_YEAR}|[一二][零〇一二三四五六七八九]{{3}})年(?![前后以来间内])"),
    late(
        rf"(?P<day>[0-9](?<![0-9月年.-].)[0-9]?|{_HAN}(?<![零〇一二三四五六七八九十月年].){_HAN}{{0,2}})[日号](?![线楼院店机])"
    ),
]
_NUMERIC = late(rf"([0-9]{_FREE}[0-9]?)([-/.])([0-9]{{1,2}})\2([12][0-9]{{3}})(?![0-9])")
_LONE_YEAR = late(r"([12](?<![0-9a-z$€£¥-].)(?<![0-9][.,].)[0-9]{3})(?![0-9a-z%])(?![.,][0-9])(?! ?年)")
_CHINESE_SIGNS = frozenset("年月日号")
_DIGITS = frozenset("0123456789")


def find_dates(text: str, seen: Seen) -> tuple[list[Date], str]:
    """Every date of a text, an ambiguous one (3/4/2023) in both readings; and the text with all of them blotted out."""
    found: list[Date] = []

    def blot(match: re.Match[str]) -> str:
        date = _read(match)
        if date is None:
            return match[0]
        found.append(date)
        kept = match.end() - date.end
        return "\0" * (len(match[0]) - kept) + match[0][len(match[0]) - kept :]

    for pattern in _worth_trying(seen):
        text = pattern.sub(blot, text)
    if seen.isdisjoint(_DIGITS):
        return found, text
    for match in _NUMERIC.finditer(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        for month, day in {(first, second), (second, first)}:
            if month <= 12 and day <= 31:
                found.append(Date(year, month, day, *match.span()))
    return found, _NUMERIC.sub(lambda match: "\0" * len(match[0]), text)


def _worth_trying(seen: Seen) -> Iterator[re.Pattern[str]]:
    if not seen.isdisjoint(_MONTHS.keys()):
        yield from _WITH_MONTH_NAMES
    if not seen.isdisjoint(_DIGITS):
        yield from _IN_DIGITS
    if not seen.isdisjoint(_CHINESE_SIGNS):
        yield from _CHINESE


def lone_years(text: str) -> list[Date]:
    """Four digits that may be a year, and may be a number."""
    years = ((int(match[1]), match.span()) for match in _LONE_YEAR.finditer(text))
    return [Date(year, None, None, *span) for year, span in years if year < 2100]


def _read(match: re.Match[str]) -> Date | None:
    groups = match.groupdict()
    year = _number(groups.get("year"), _read_year)
    month = _number(groups.get("month"), lambda name: _MONTHS.get(name) or _small(name))
    day = _number(groups.get("day"), _read_day)
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    end = match.end()
    if groups.get("year") and year is None:  # words after a day that are no year
        end = match.start("year")
    return Date(year, month, day, match.start(), end)


def _number(text: str | None, read: Callable[[str], int | None]) -> int | None:
    return None if text is None else read(text)


def _read_year(text: str) -> int | None:
    if text.isascii() and not text.isdigit():
        words = year_in_words(text)
        value = english_value(text) if words is None and ENGLISH.fullmatch(text) else None
        return words if words is not None else int(value) if value is not None and 1000 <= value < 2200 else None
    return _small(text)


def _read_day(text: str) -> int | None:
    return _DAYS.get(text) or _small(re.sub(r"(?:st|nd|rd|th)$", "", text))


def _small(text: str) -> int | None:
    if text.isdigit() and text.isascii():
        return int(text)
    value = chinese_value(text)
    return None if value is None else int(value)

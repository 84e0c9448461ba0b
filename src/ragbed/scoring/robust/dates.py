"""Find complete and partial dates (a year, a month and a day, a day alone, …) in folded text."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragbed.scoring.robust.numerals import ENGLISH, chinese_value, english_value, year_in_words
from ragbed.scoring.robust.patterns import Terms, lazy


class Date(NamedTuple):
    """The known parts of a date and its position in the text."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int

    def matches(self, wanted: Date, known: Date | None = None) -> bool:
        """Return whether the date agrees with the expected date and is at least as precise.

        Args:
            wanted: The expected date.
            known: The parts that the question gives, which an answer need not repeat.
        """
        parts = zip(self[:3], wanted[:3], known[:3] if known else (None, None, None), strict=True)
        return all(theirs is None or _are_same(given if own is None else own, theirs) for own, theirs, given in parts)

    def contradicts(self, other: Date) -> bool:
        """Return whether the dates have different years, months or days; missing parts are ignored."""
        pairs = zip(self[:3], other[:3], strict=True)
        return any(own is not None and theirs is not None and not _are_same(own, theirs) for own, theirs in pairs)


def _are_same(own: int | None, theirs: int) -> bool:
    """Return whether two years, months or days are the same; a year can have two digits ('64)."""
    if own is None:
        return False
    short, long = sorted((own, theirs))
    return short == long or (short < 100 <= long and long % 100 == short)


_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTHS = {name[:length]: number for number, name in enumerate(_NAMES, start=1) for length in (3, len(name))} | {
    "sept": 9
}
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)  # fmt: skip
_DAYS = {word: number for number, word in enumerate(_ORDINALS, start=1)} | {
    **{f"twenty-{word}": 20 + number for number, word in enumerate(_ORDINALS[:9], start=1)},
    "thirtieth": 30,
    "thirty-first": 31,
}
# Each pattern starts with a character instead of a lookbehind, which makes the search faster.
_FREE = r"(?<![0-9a-z].)(?<![0-9][.,/-].)"


_MONTH = rf"(?P<month>\b(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))}))\b\.?"
_DAY = rf"(?P<day>[0-9]{_FREE}[0-9]?(?:st|nd|rd|th)?|\b(?:{'|'.join(sorted(_DAYS, key=len, reverse=True))}))\b"
_YEAR = (
    r"(?P<year>[12][0-9]{3}(?![0-9])|'[0-9]{2}(?![0-9])"
    r"|(?:two thousand|nineteen|eighteen|twenty)(?:[ -](?:and )?[a-z]+){1,2})"
)
_DIGIT_YEAR = rf"[12]{_FREE}[0-9]{{3}}"
_HAN = "[零〇一二三四五六七八九十]"
_DIGIT_OR_HAN = "[0-9零〇一二三四五六七八九十]"
_MONTH_NAME_PATTERNS = [
    lazy(rf"{_DAY}\s+(?:day\s+)?(?:of\s+)?{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR})?"),
    lazy(rf"{_MONTH}\s+(?:the\s+)?{_DAY}(?:(?:,\s*|\s+)(?:in\s+)?{_YEAR})?"),
    lazy(rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}"),
]
_DIGIT_PATTERNS = [
    lazy(rf"(?P<month>[0-9]{_FREE}[0-9]?)/(?P<year>[12][0-9]{{3}})(?![0-9/])"),
    lazy(rf"(?P<year>{_DIGIT_YEAR})[-/.](?P<month>[0-9]{{1,2}})[-/.](?P<day>[0-9]{{1,2}})(?![0-9]|[-/.][0-9])"),
]
_MONTH_AND_DAY = rf"月份?(?:(?P<day>[0-9]{{1,2}}|{_HAN}{{1,3}})[日号])?"
# Each pattern is applied only to texts that contain one of its characters.
_CHINESE_PATTERNS = [
    (signs, lazy(pattern))
    for signs, pattern in (
        (
            "月",
            r"(?P<year>[0-9](?<![0-9].)[0-9])年的?"
            rf"(?P<month>[0-9]{{1,2}}|{_HAN}{{1,2}})月(?P<day>[0-9]{{1,2}}|{_HAN}{{1,3}})[日号]",
        ),
        (
            "月",
            rf"(?P<year>[12一二](?:(?<=[12]){_FREE}[0-9]{{3}}|(?<=[一二]){_HAN}{{3}}))年的?"
            rf"(?P<month>[0-9]{{1,2}}|{_HAN}{{1,2}}){_MONTH_AND_DAY}",
        ),
        (
            "月",
            rf"(?P<month>[0-9](?<![0-9].)[0-9]?|{_HAN}{{1,2}})月"
            rf"(?P<day>[0-9]{{1,2}}|{_HAN}{{1,3}})[日号], ?(?P<year>{_DIGIT_YEAR})年(?!的?{_DIGIT_OR_HAN})",
        ),
        ("月", rf"(?P<month>{_DIGIT_OR_HAN}(?:(?<=[0-9])(?<![0-9].)[0-9]?|(?<={_HAN}){_HAN}?)){_MONTH_AND_DAY}"),
        (
            "年",
            rf"(?P<year>[12一二](?:(?<=[12]){_FREE}[0-9]{{3}}|(?<=[一二])[零〇一二三四五六七八九]{{3}}))年(?![前后以来间内])",
        ),
        (
            "日号",
            rf"(?P<day>{_DIGIT_OR_HAN}(?:(?<=[0-9])(?<![0-9月年.-].)[0-9]?"
            rf"|(?<={_HAN})(?<![零〇一二三四五六七八九十月年].){_HAN}{{0,2}}))[日号](?![线楼院店机])",
        ),
    )
]
_NUMERIC = lazy(rf"([0-9]{_FREE}[0-9]?)([-/.])([0-9]{{1,2}})\2([12][0-9]{{3}}|(?<=/)[0-9]{{2}})(?![0-9]|[-/.][0-9])")
_LONE_YEAR = lazy(
    r"([12](?<![0-9a-z$€£¥].)(?<!(?<![0-9]{4})-.)(?<![0-9][.,].)[0-9]{3})(?![0-9a-z%])(?![.,][0-9])(?! ?年)"
)
_WORD_YEAR = lazy(
    r"(?:seventeen|eighteen|nineteen|twenty)[ -](?:oh|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen)(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?\b"
)
_DIGITS = frozenset("0123456789")
_SEPARATED = lazy("[0-9][-/.][0-9]")
_MONTH_NAMES = frozenset(_MONTHS)
_SIGNS = _DIGITS | _MONTH_NAMES | frozenset("年月日号")  # a text with none of these terms contains no date


def find_dates(text: str, terms: Terms) -> tuple[list[Date], str]:
    """Return all dates in a text, with both readings of ambiguous dates (3/4/2023), and the text with dates masked."""
    found: list[Date] = []
    if terms.isdisjoint(_SIGNS):
        return found, text

    def mask(match: re.Match[str]) -> str:
        date = _read(match)
        if date is None:
            return match[0]
        found.append(date)
        kept = match.end() - date.end
        return "\0" * (len(match[0]) - kept) + match[0][len(match[0]) - kept :]

    is_numeric = not terms.isdisjoint(_DIGITS) and _SEPARATED.search(text) is not None
    patterns = [] if terms.isdisjoint(_MONTH_NAMES) else [*_MONTH_NAME_PATTERNS]
    patterns += _DIGIT_PATTERNS if is_numeric else ()
    if not text.isascii():
        patterns += [pattern for signs, pattern in _CHINESE_PATTERNS if not terms.isdisjoint(signs)]
    for pattern in patterns:
        text = pattern.sub(mask, text)
    if not is_numeric:
        return found, text
    for match in _NUMERIC.finditer(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        for month, day in {(first, second), (second, first)}:
            if month <= 12 and day <= 31:
                found.append(Date(year, month, day, *match.span()))
    return found, _NUMERIC.sub(lambda match: "\0" * len(match[0]), text)


def lone_years(text: str) -> list[Date]:
    """Return the four-digit numbers that could be years."""
    years = []
    if "1" in text or "2" in text:
        years = [(int(match[1]), match.span()) for match in _LONE_YEAR.finditer(text)]
    if "teen" in text or "twenty" in text:
        in_words = ((year_in_words(match[0]), match.span()) for match in _WORD_YEAR.finditer(text))
        years += [(year, span) for year, span in in_words if year is not None]
    return [Date(year, None, None, *span) for year, span in years if year < 2100]


def _read(match: re.Match[str]) -> Date | None:
    groups = match.groupdict()
    year_text, month_text, day_text = groups.get("year"), groups.get("month"), groups.get("day")
    year = _read_year(year_text) if year_text else None
    month = _MONTHS.get(month_text) or _read_number(month_text) if month_text else None
    day = _DAYS.get(day_text) or _read_number(day_text.rstrip("stndrh")) if day_text else None
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    is_no_year = year_text and year is None  # whether the text that matched the year pattern is not a valid year
    return Date(year, month, day, match.start(), match.start("year") if is_no_year else match.end())


def _read_year(text: str) -> int | None:
    text = text.removeprefix("'")
    if not text.isascii() or text.isdigit():
        return _read_number(text)
    year = year_in_words(text)
    if year is not None or not ENGLISH.fullmatch(text):
        return year
    value = english_value(text)
    return int(value) if value is not None and 1000 <= value < 2200 else None


def _read_number(text: str) -> int:
    return int(text) if text.isdigit() and text.isascii() else int(chinese_value(text))

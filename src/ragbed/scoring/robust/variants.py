"""Add the other forms of an alias: spellings, Roman numerals, decades, centuries, times of day and fractions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from ragbed.scoring.robust.patterns import lazy
from ragbed.text import in_words

_TRANSLITERATED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "å": "aa"}
)
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_NUMBERED = lazy(r"^(\D*[^\W\d][ -]?)([1-9]|1[0-2])$")
_IN_ROMAN = lazy(r"^(.*[^\W\d] )([IVX]{1,4})$")
_DECADE = lazy(r"^(?:the )?(?:1[5-9]|20)([2-9])0s$")
_TENS = ("", "", "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_TIME = lazy(r"^([01]?[0-9]|2[0-3]):([0-5][0-9])(?: ?([ap])\.?m\.?)?$")
_PARTS_OF_DAY = (("凌晨", "清晨", "早上", "早晨", "上午"), ("中午", "午后", "下午", "傍晚", "晚上", "晚", "夜里"))
_HOUR = lazy(r"^(凌晨|早上|上午|中午|下午|傍晚|晚上)([1-9]|1[0-2])[点时]$")
_HOURS = frozenset("点时")
_OF = lazy(r"^(?:the )?([A-Z][a-z]+) of ([A-Z][a-z]+?)s?$")
_ABOUT = lazy(
    r"^(?:about|approximately|approx\.|around|roughly|nearly|almost|circa|some|~|≈|大约|约|将近|接近|近) ?"
    r"(?=[0-9$€£¥a-z零一二两三四五六七八九十])"
)
_MIN_CENTURY = 12  # earliest century with a variant such as '1100s'; '100s' and '1000s' can also be indefinite numbers
_MAX_RANGE = 64  # aliases with more characters are not searched for a range, because the search would take too long
_CENTURY = lazy(r"^(?:the )?([0-9]{1,2})(?:st|nd|rd|th) century$")
_RANGE = lazy(r"^([^至到~-]*[0-9][^至到~-]*?) ?(?:至|到|~|-|–|—| to ) ?([^至到~-]*[0-9][^至到~-]*)$")
_RANGE_FORMATS = ("{}至{}", "{}到{}", "{}-{}", "{}~{}", "{} to {}", "between {} and {}")
# Pairs of British and American spellings.
_BRITISH = {
    "theatre": "theater", "centre": "center", "harbour": "harbor", "colour": "color", "honour": "honor",
    "labour": "labor", "defence": "defense", "grey": "gray", "aluminium": "aluminum", "programme": "program",
    "organisation": "organization", "fibre": "fiber", "sulphur": "sulfur", "jewellery": "jewelry", "tyre": "tire",
}  # fmt: skip
_SPELLINGS = _BRITISH | {american: british for british, american in _BRITISH.items()}
_WORD = lazy("[A-Za-z]+")
_ORDINALS = ("", "First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")
# Words such as 'third' are ordinals unless a number precedes them.
_SHARES_IN_WORDS = lazy(r"^(?:half|(?:an?|one|two|three|four|five) (?:half|third|quarter|fifth|sixth|eighth|tenth)s?)$")
_PERCENT = lazy(r"^([0-9]+(?:\.[0-9]+)?) ?(?:%|per ?cent|percent)$")
_FRACTION = lazy(r"^([1-9]) ?/ ?([2-9]|10)$|^([二三四五六七八九十])分之([一二三四五六七八九])$")
_ENDS_OF_SHARES = frozenset("%tfdrhs0123456789一二三四五六七八九")  # final characters of percentages and fractions
_PARTS = {
    2: "half",
    3: "third",
    4: "quarter",
    5: "fifth",
    6: "sixth",
    7: "seventh",
    8: "eighth",
    9: "ninth",
    10: "tenth",
}
_SAINT = lazy(r"^(Saint|St\.?) (?=[A-Z])")
_SHORT_NAMES = {
    "Tuesday": ("Tues",), "Thursday": ("Thurs",), "Friday": ("Fri",),
    "January": ("Jan",), "February": ("Feb",), "August": ("Aug",), "September": ("Sept",), "October": ("Oct",),
    "November": ("Nov",), "December": ("Dec",),
}  # fmt: skip
_SPEED = lazy(r"^([0-9][0-9.,]*) ?(km/h|km/s|m/s|公里/小时|公里/秒|米/秒)$")
_SPEEDS = {
    "km/h": (
        "kilometres per hour",
        "kilometers per hour",
        "km per hour",
        "kph",
        "公里每小时",
        "每小时{}公里",
        "时速{}公里",
    ),
    "km/s": ("kilometres per second", "kilometers per second", "km per second", "公里每秒", "每秒{}公里"),
    "m/s": ("metres per second", "meters per second", "米每秒", "每秒{}米"),
}
_SPEEDS |= {"公里/小时": _SPEEDS["km/h"], "公里/秒": _SPEEDS["km/s"], "米/秒": _SPEEDS["m/s"]}
_COUNTS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_HAN = "零一二三四五六七八九十"


def spellings(alias: str) -> Iterator[str]:
    """Yield other spellings of an alias, skipping all patterns that its last character rules out."""
    last = alias.rstrip()[-1:]
    yield from _SHORT_NAMES.get(alias, ())
    if found := _ABOUT.match(alias):
        yield alias[found.end() :]
    if not _SPELLINGS.keys().isdisjoint(_WORD.findall(alias.lower())):
        yield _WORD.sub(_swap_spelling, alias)
    yield from _times_and_numbers(alias, last)
    if not alias.isascii() and (plain := alias.translate(_TRANSLITERATED)) != alias:
        yield plain
    if last.isdigit() and (found := _NUMBERED.match(alias)):
        yield f"{found[1].rstrip(' -')} {_ROMAN[int(found[2])]}"
    elif last in _ROMAN and (found := _IN_ROMAN.match(alias)) and found[2] in _ROMAN:
        number = _ROMAN.index(found[2])
        yield f"{found[1]}{number}"
        if number < len(_ORDINALS):
            yield f"{found[1]}the {_ORDINALS[number]}"
    yield from _phrases(alias)


def _phrases(alias: str) -> Iterator[str]:
    if alias.startswith("S") and (found := _SAINT.match(alias)):
        yield from (f"{title} {alias[found.end() :]}" for title in ("Saint", "St"))
    if "0s" in alias and (found := _DECADE.match(alias)):
        yield from (_TENS[int(found[1])], f"{found[1]}0s")
    if " of " in alias and (found := _OF.match(alias)):
        yield f"{found[2]} {found[1]}"
    if "century" in alias and (found := _CENTURY.match(alias)) and int(found[1]) >= _MIN_CENTURY:
        yield f"{int(found[1]) - 1}00s"
    if len(alias) <= _MAX_RANGE and (found := _RANGE.match(alias)):
        yield from (form.format(found[1], found[2]) for form in _RANGE_FORMATS)


def _swap_spelling(found: re.Match[str]) -> str:
    """Return the British spelling of an American word or vice versa; other words are returned unchanged."""
    other = _SPELLINGS.get(found[0].lower(), found[0])
    return other.capitalize() if found[0][0].isupper() and other != found[0] else other


def _times_and_numbers(alias: str, last: str) -> Iterator[str]:
    if ":" in alias and (found := _TIME.match(alias)):
        yield from _times(int(found[1]) % 12 + 12 * (found[3] == "p") if found[3] else int(found[1]), int(found[2]))
    if last in _HOURS and (found := _HOUR.match(alias)):
        hours = (found[2], _in_han(int(found[2])))
        yield from (f"{part}{hour}点" for part in (found[1], found[1][0]) for hour in hours)
    if "/" in alias and (found := _SPEED.match(alias)):
        yield from _speeds(found[1], found[2])
    if last in _ENDS_OF_SHARES:
        yield from _fractions(alias)


def _speeds(number: str, unit: str) -> Iterator[str]:
    value = number.replace(",", "")
    is_short = value.isdigit() and len(value) <= 15  # Longer numbers are not written in words.
    for form in _SPEEDS[unit]:
        for written in [number, *([in_words(int(value)), _in_han_large(int(value))] if is_short else [])]:
            yield form.format(written) if "{}" in form else f"{written} {form}"


def _in_han_large(number: int) -> str:
    """Return a number in Chinese numerals or, from 1,000 upwards, in digits."""
    hundreds, rest = divmod(number, 100)
    if number < 100 or number >= 1000:
        return _in_han(number) if number < 100 else str(number)
    return f"{_HAN[hundreds]}百{'零' if 0 < rest < 10 else '一' if 10 <= rest < 20 else ''}{_in_han(rest)}"


def _times_en(hour: int, minute: int) -> Iterator[str]:
    now, later = in_words(hour % 12 or 12), in_words((hour + 1) % 12 or 12)
    if minute in (15, 30):
        yield f"{'quarter' if minute == 15 else 'half'} past {now}"
    elif minute == 45:
        yield f"quarter to {later}"
    elif minute % 5 == 0 and minute:
        yield f"{in_words(minute)} past {now}" if minute < 30 else f"{in_words(60 - minute)} to {later}"


def _times(hour: int, minute: int) -> Iterator[str]:
    yield from _times_en(hour, minute)
    for part in _PARTS_OF_DAY[hour // 12]:
        for written in (_in_han(hour % 12 or 12), str(hour % 12 or 12)):
            spoken = "两" if written == "二" else written
            tail = ("零" if 0 < minute < 10 else "") + _in_han(minute) + "分" * bool(minute)
            yield from (f"{part}{spoken}点{rest}" for rest in ([tail, "半"] if minute == 30 else [tail]))
            yield f"{part}{spoken}点{minute:02}分"
    part = "下午" if hour >= 12 else "上午"
    short = hour % 12 or 12
    yield from (
        f"{hour}时{minute:02}分",
        f"{hour}点{minute:02}分",
        f"{part}{short}点{minute:02}分",
        f"{part}{short}:{minute:02}",
    )
    yield f"{part}{_in_han(short)}点{'零' if 0 < minute < 10 else ''}{_in_han(minute)}{'分' if minute else ''}"
    yield f"{short}:{minute:02} {'pm' if hour >= 12 else 'am'}"


def _in_han(number: int) -> str:
    if number <= 10:
        return _HAN[number] if number else ""
    tens, ones = divmod(number, 10)
    return f"{_HAN[tens] if tens > 1 else ''}十{_HAN[ones] if ones else ''}"


def _fractions(alias: str) -> Iterator[str]:
    if found := _PERCENT.match(alias):
        share = Fraction(found[1]) / 100
        tenths, rest = divmod(share * 20, 2)
        if 0 < tenths < 10 and rest in (0, 1):
            yield f"{_HAN[int(tenths)]}成{'五' if rest else ''}"
        if share.denominator in _PARTS and share < 1:
            yield from _names(share)
    elif _SHARES_IN_WORDS.match(alias) and (share := _share_in_words(alias)) < 1:
        yield from _names(share)
        yield from _percentages(share)
    elif found := _FRACTION.match(alias):
        top, bottom = (int(found[1]), int(found[2])) if found[1] else (_HAN.index(found[4]), _HAN.index(found[3]))
        if top < bottom:
            yield from _names(Fraction(top, bottom))
            yield from _percentages(Fraction(top, bottom))


def _share_in_words(alias: str) -> Fraction:
    *counts, part = alias.split()
    bottom = next(number for number, name in _PARTS.items() if part in (name, f"{name}s"))
    top = _COUNTS.index(counts[0]) if counts and counts[0] in _COUNTS else 1
    return Fraction(top, bottom)


def _percentages(share: Fraction) -> set[str]:
    percent = float(100 * share)
    return {f"{percent:.0f}%", f"{percent:.1f}%", f"{percent:.2f}%"}


def _names(share: Fraction) -> Iterator[str]:
    top, bottom = share.numerator, share.denominator
    yield f"{_HAN[bottom]}分之{_HAN[top]}"
    yield f"{top}/{bottom}"
    yield f"{_COUNTS[top]} {_PARTS[bottom]}{'s' if top > 1 else ''}"
    yield from (f"{_COUNTS[top]} {word} {in_words(bottom)}" for word in ("in", "out of"))
    if bottom == 2:
        yield from ("half of", "一半")
    if top == 1:
        yield f"an {_PARTS[bottom]}" if bottom == 8 else f"a {_PARTS[bottom]}"

"""Add the other spellings of an alias: transliterations, Roman numerals, decades, times of day and fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ragbed.scoring.robust.patterns import lazy

_TRANSLITERATED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "å": "aa"}
)
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_NUMBERED = lazy(r"^(\D*[^\W\d][ -]?)([1-9]|1[0-2])$")
_IN_ROMAN = lazy(r"^(.*[^\W\d] )([IVX]{1,4})$")
_DECADE = lazy(r"^(?:the )?(?:1[5-9]|20)([2-9])0s$")
_TENS = ("", "", "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_TIME = lazy(r"^([01]?[0-9]|2[0-3]):([0-5][0-9])$")
_HOUR = lazy(r"^(凌晨|早上|上午|中午|下午|傍晚|晚上)([1-9]|1[0-2])[点时]$")
_OF = lazy(r"^(?:the )?([A-Z][a-z]+) of ([A-Z][a-z]+?)s?$")
_PERCENT = lazy(r"^([0-9]+(?:\.[0-9]+)?) ?(?:%|per ?cent|percent)$")
_FRACTION = lazy(r"^([1-9]) ?/ ?([2-9]|10)$|^([二三四五六七八九十])分之([一二三四五六七八九])$")
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
_COUNTS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_HAN = "零一二三四五六七八九十"


def spellings(alias: str) -> Iterator[str]:
    """Yield other spellings of an alias."""
    if (plain := alias.translate(_TRANSLITERATED)) != alias:
        yield plain
    if found := _NUMBERED.match(alias):
        yield f"{found[1].rstrip(' -')} {_ROMAN[int(found[2])]}"
    elif (found := _IN_ROMAN.match(alias)) and found[2] in _ROMAN:
        yield f"{found[1]}{_ROMAN.index(found[2])}"
    if found := _DECADE.match(alias):
        yield from (_TENS[int(found[1])], f"{found[1]}0s")
    if found := _OF.match(alias):
        yield f"{found[2]} {found[1]}"
    if found := _TIME.match(alias):
        yield from _times(int(found[1]), int(found[2]))
    if found := _HOUR.match(alias):
        hours = (found[2], _in_han(int(found[2])))
        yield from (f"{part}{hour}点" for part in (found[1], found[1][0]) for hour in hours)
    yield from _fractions(alias)


def _times(hour: int, minute: int) -> Iterator[str]:
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
        if share.denominator in _PARTS and share < 1:
            yield from _names(share)
    elif found := _FRACTION.match(alias):
        top, bottom = (int(found[1]), int(found[2])) if found[1] else (_HAN.index(found[4]), _HAN.index(found[3]))
        if top < bottom:
            yield from _names(Fraction(top, bottom))
            percent = 100 * top / bottom
            yield from {f"{percent:.0f}%", f"{percent:.1f}%", f"{percent:.2f}%"}


def _names(share: Fraction) -> Iterator[str]:
    top, bottom = share.numerator, share.denominator
    yield f"{_HAN[bottom]}分之{_HAN[top]}"
    yield f"{top}/{bottom}"
    yield f"{_COUNTS[top]} {_PARTS[bottom]}{'s' if top > 1 else ''}"
    if top == 1:
        yield f"an {_PARTS[bottom]}" if bottom == 8 else f"a {_PARTS[bottom]}"

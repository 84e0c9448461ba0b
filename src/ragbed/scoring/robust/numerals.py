"""Numbers written in words, English and Chinese, in folded text."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from ragbed.scoring.robust.patterns import late
from ragbed.scoring.robust.prefilter import in_order

_UNITS = in_order(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL = {word: number for number, word in enumerate(_UNITS)} | {
    word: 10 * number for number, word in enumerate(_TENS, start=2)
}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
WORDS = frozenset([*_SMALL, "hundred", *_LARGE]) - {"one"}
"""What English numbers are made of; 'one' alone is hardly ever one."""
_WORD = "|".join(sorted(WORDS | {"one"}, key=len, reverse=True))
ENGLISH = late(
    rf"\b(?:(?:a|{'|'.join([*_UNITS[1:], *_TENS])})[ -](?=hundred|thousand|million|billion|trillion))?"
    rf"(?:{_WORD})(?:(?:[ -]|, | and |-and-)(?:{_WORD}))*(?: point(?: (?:{'|'.join(_UNITS[:10])}))+)?"
    rf"(?: (?:{'|'.join(_LARGE)}))*\b"
)
"""A run of number words: 'forty-four billion', 'a hundred and five', 'one point five million'."""

_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
SIGNS = frozenset("零〇一二两三四五六七八九十百千万亿")
"""What Chinese numerals are made of."""
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_SIGNS_OF_PLACE = frozenset("十百千万亿")
_PLACE = "(?:[十万亿]|百(?!分)|千(?![米克瓦卡]))"  # 千米 is a unit
CHINESE = late(
    rf"(?:(?<![0-9a-z])(?<![0-9][.,])[0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)?(?={_PLACE})|[零〇一二两三四五六七八九]|{_PLACE})"
    rf"(?:[0-9零〇一二两三四五六七八九]|{_PLACE})*(?:点[零〇一二三四五六七八九]+[万亿]*)?"
)
"""A run of Chinese numerals, of which some may be digits: 三万九千七百三十, 二〇二三, 三点五亿, 440亿, 58万9千四百."""
_TOKEN = late(r"[0-9]+(?:\.[0-9]+)?|.")


def english_value(words: str) -> Decimal | None:
    """The number that a run of English number words says; None where it is not one number ('five six')."""
    whole, _, tail = words.partition(" point ")
    tokens = [token for token in re.split(r"[ ,-]+", whole) if token not in {"and", "a", ""}]
    fraction, scales = _fraction(tail)
    if fraction is None:
        return None
    if fraction:
        value = _english_whole(tokens)
        return None if value is None else (value + Decimal(f"0.{fraction}")) * scales
    return _english_whole(tokens)


def _fraction(tail: str) -> tuple[str | None, int]:
    digits, scale = "", 1
    for token in tail.split():
        if token in _LARGE:
            scale *= _LARGE[token]
        elif _SMALL.get(token, 10) < 10:
            digits += str(_SMALL[token])
        else:
            return None, 1
    return digits, scale


def _english_whole(words: list[str]) -> Decimal | None:
    total, group, last = 0, 0, 10**15
    for word in words:
        if word in _LARGE:
            if _LARGE[word] >= last and total:
                return None
            total, group, last = total + (group or 1) * _LARGE[word], 0, _LARGE[word]
        elif word == "hundred":
            group = (group or 1) * 100
        else:
            number = _SMALL[word]
            # 'twenty' takes 'five' but not 'fifteen'; 'five' takes nothing.
            if group % 100 and not (group % 10 == 0 and group % 100 >= 20 and number < 10):
                return None
            group += number
    return Decimal(total + group)


def year_in_words(words: str) -> int | None:
    """'nineteen eighty-nine' and 'twenty twenty-three' as years; 'two thousand seventeen' is an ordinary number."""
    tokens = [token for token in re.split(r"[ -]+", words) if token]
    if len(tokens) < 2 or tokens[0] not in {"seventeen", "eighteen", "nineteen", "twenty"}:
        return None
    rest = [_SMALL.get(token, 100) for token in tokens[1:]]
    if rest == [100]:
        return _SMALL[tokens[0]] * 100
    fits = (len(rest) == 1 and rest[0] >= 10) or (len(rest) == 2 and rest[0] >= 20 and rest[1] < 10)
    return _SMALL[tokens[0]] * 100 + sum(rest) if fits and sum(rest) < 100 else None


def chinese_value(numerals: str) -> Decimal:
    """The number that a run of Chinese numerals says; digit by digit (二〇二三) if it has no places."""
    whole, _, tail = numerals.replace(",", "").partition("点")
    if _SIGNS_OF_PLACE.isdisjoint(whole):
        value: Decimal | int = int("".join(str(_DIGITS.get(character, character)) for character in whole))
    else:
        value = _chinese_whole(_TOKEN.findall(whole))
    if not tail:
        return Decimal(value)
    scale = 1
    while tail[-1] in _MYRIADS:
        scale, tail = scale * _MYRIADS[tail[-1]], tail[:-1]
    return (value + Decimal("0." + "".join(str(_DIGITS[character]) for character in tail))) * scale


def _chinese_whole(parts: list[str]) -> Decimal | int:
    total: Decimal | int = 0
    section: Decimal | int = 0
    digit: Decimal | int = 0
    place = 1
    for part in parts:
        if part in _MYRIADS:
            section += digit
            if part == "亿":  # counts what 万 has counted too: 一万亿
                section, total = section + total, 0
            total += (section or 1) * _MYRIADS[part]
            section, digit, place = 0, 0, _MYRIADS[part]
        elif part in _PLACES:
            section += (digit or 1) * _PLACES[part]
            digit, place = 0, _PLACES[part]
        elif part in {"零", "〇"}:
            place = 1  # the next digit stands for itself: 三百零五
        else:
            digit = _DIGITS[part] if part in _DIGITS else Decimal(part)
    # A last digit right after a place stands one place below it: 两百五 is 250, 三万五 is 35,000.
    return total + section + digit * (place // 10 if place > 1 and digit < 10 else 1)


class Digits(NamedTuple):
    """What a text must have to say a number in digits or in Chinese numerals."""

    run: str
    """Its digits, in this order, without the zeros at the end."""
    signs: tuple[str, ...]
    """For each of its digits, what may stand for it among Chinese numerals; zeros and ones may be left out (十)."""


def digits_of(value: Decimal) -> Digits:
    """How to tell at a glance that a number is not in a text."""
    run = f"{abs(value):f}"
    signs = {"2": "2二两俩"} | {str(number): f"{number}{han}" for han, number in _DIGITS.items() if number > 2}
    return Digits(run.replace(".", "").strip("0"), tuple(sorted({signs[digit] for digit in run if digit in signs})))

"""Parse numbers written as English or Chinese words in folded text."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from ragbed.scoring.robust.patterns import lazy

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL = {word: number for number, word in enumerate(_UNITS)} | {
    word: 10 * number for number, word in enumerate(_TENS, start=2)
}
_LARGE = {"dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# Fractions that follow a number ('two and a half').
_TAILS = {" and a half": "0.5", " and a quarter": "0.25", " and three quarters": "0.75"}
# English number words, except 'one', which is rarely a number.
WORDS = frozenset([*_SMALL, "hundred", *_LARGE]) - {"one"}
_WORD = "|".join(sorted(WORDS | {"one"}, key=len, reverse=True))
# A sequence of number words, e.g. 'forty-four billion', 'a hundred and five' or 'one point five million'.
ENGLISH = lazy(
    rf"\b(?:(?:(?:a|{'|'.join([*_UNITS[1:], *_TENS])})[ -](?=hundred|dozen|thousand|million|billion|trillion))?"
    rf"(?:{_WORD})(?:(?:[ -]|, | and |-and-)(?:{_WORD}))*(?: point(?: (?:{'|'.join(_UNITS[:10])}))+)?"
    rf"(?: (?:{'|'.join(_LARGE)}))*(?:{'|'.join(_TAILS)})?(?: (?:{'|'.join(_LARGE)}))*)\b"
)

_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
SIGNS = frozenset("零〇一二两三四五六七八九十百千万亿")
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_SIGNS_OF_PLACE = frozenset("十百千万亿")
_PLACE = "(?:[十万亿]|百(?!分)|千(?![米克瓦卡]))"  # excludes units such as 千米
# A sequence of Chinese numerals and digits, e.g. 三万九千七百三十, 二〇二三, 三点五亿, 440亿 or 58万9千四百.
CHINESE = lazy(
    # The pattern starts with a character class, which the regex engine finds faster than an alternation.
    r"[0-9零〇一二两三四五六七八九十百千万亿]"
    rf"(?:(?<=[0-9])(?<![0-9a-z].)(?<![0-9][.,].)[0-9]*(?:,[0-9]{{3}})*(?:\.[0-9]+)?(?={_PLACE})"
    r"|(?<=[零〇一二两三四五六七八九十万亿])|(?<=百)(?!分)|(?<=千)(?![米克瓦卡]))"
    rf"(?:[0-9零〇一二两三四五六七八九]|{_PLACE}|个(?=[万亿]))*(?:点[零〇一二三四五六七八九]+[万亿]*)?"
)
_TOKEN = lazy(r"[0-9]+(?:\.[0-9]+)?|.")


def english_value(words: str) -> Decimal | None:
    """Return the value of a sequence of English number words, or None if it is not one number ('five six')."""
    for tail, share in _TAILS.items():
        if tail in words:  # e.g. 'two and a half million'
            first, _, larger = words.partition(tail)
            value = english_value(first)
            if value is None:
                return None
            scale = _LARGE.get(first.split()[-1], 1)  # e.g. 'a million and a half'
            return (value + Decimal(share) * scale) * math.prod(_LARGE[word] for word in larger.split())
    whole, _, tail = words.partition(" point ")
    tokens = [token for token in re.split(r"[ ,-]+", whole) if token not in {"and", "a", ""}]
    value = _english_whole(tokens)
    digits, scale = "", 1
    for token in tail.split():
        if token in _LARGE:
            scale *= _LARGE[token]
        elif _SMALL.get(token, 10) < 10:
            digits += str(_SMALL[token])
        else:
            return None
    return value if value is None or not digits else (value + Decimal(f"0.{digits}")) * scale


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
            number = _SMALL.get(word)
            if number is None:  # part of a fraction, e.g. 'half'
                return None
            # 'five' can follow 'twenty', but 'fifteen' cannot, and no number can follow 'five'.
            if group % 100 and not (group % 10 == 0 and group % 100 >= 20 and number < 10):
                return None
            group += number
    return Decimal(total + group)


def year_in_words(words: str) -> int | None:
    """Return the year for words such as 'nineteen eighty-nine', or None for words such as 'two thousand seventeen'."""
    tokens = [token for token in re.split(r"[ -]+", words) if token]
    if len(tokens) < 2 or tokens[0] not in {"seventeen", "eighteen", "nineteen", "twenty"}:
        return None
    rest = [_SMALL.get(token, 100) for token in tokens[1:]]
    if rest == [100]:
        return _SMALL[tokens[0]] * 100
    fits = (len(rest) == 1 and rest[0] >= 10) or (len(rest) == 2 and rest[0] >= 20 and rest[1] < 10)
    return _SMALL[tokens[0]] * 100 + sum(rest) if fits and sum(rest) < 100 else None


def chinese_value(numerals: str) -> Decimal:
    """Return the value of Chinese numerals, read digit by digit (二〇二三) if they contain no 十, 百, 千, 万 or 亿."""
    whole, _, tail = numerals.replace(",", "").replace("个", "").partition("点")
    if _SIGNS_OF_PLACE.isdisjoint(whole):
        value: Decimal | int = Decimal("".join(str(_DIGITS.get(character, character)) for character in whole))
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
            if part == "亿":  # 亿 also multiplies the preceding 万: 一万亿
                section, total = section + total, 0
            total += (section or 1) * _MYRIADS[part]
            section, digit, place = 0, 0, _MYRIADS[part]
        elif part in _PLACES:
            section += (digit or 1) * _PLACES[part]
            digit, place = 0, _PLACES[part]
        elif part in {"零", "〇"}:
            place = 1  # the digit after 零 is in the ones place, e.g. 五 in 三百零五
        else:
            digit = _DIGITS[part] if part in _DIGITS else Decimal(part)
    # A final digit belongs to the next lower place: 两百五 is 250, 三万五 is 35,000.
    return total + section + digit * (place // 10 if place > 1 and digit < 10 else 1)

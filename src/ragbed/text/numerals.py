"""Whole numbers written in words, as the two languages do."""

from __future__ import annotations

_DIGITS = "零一二三四五六七八九"
_UNITS = ("", "十", "百", "千")
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand"))


def _below_ten_thousand(number: int) -> str:
    words, gap = "", False
    for power in (3, 2, 1, 0):
        digit = number // 10**power % 10
        if digit:
            words += ("零" if gap and words else "") + _DIGITS[digit] + _UNITS[power]
            gap = False
        else:
            gap = True
    return words


def spoken(number: int) -> str:
    """A count as one says it: 两万 and 两千, but 二百 and 二十."""
    words = numeral(number)
    return "两" + words[1:] if words[0] == "二" and words[1:2] in ("千", "万", "亿") else words


def numeral(number: int) -> str:
    """A whole number in Chinese numerals, as 一万二千四百; below a hundred 十五 rather than 一十五."""
    if number >= 10**8:
        rest = number % 10**8
        return numeral(number // 10**8) + "亿" + (("零" if rest < 10**7 else "") + numeral(rest) if rest else "")
    if number >= 10**4:
        rest = number % 10**4
        tail = ("零" if rest < 1000 else "") + _below_ten_thousand(rest) if rest else ""
        return numeral(number // 10**4) + "万" + tail
    words = _below_ten_thousand(number) or "零"
    return words[1:] if 10 <= number < 20 else words


def in_words(number: int) -> str:
    """A whole number in English: forty-four billion, three hundred and five."""
    for size, name in _SCALES:
        if number >= size:
            rest = number % size
            joint = " and " if 0 < rest < 100 else " "
            return f"{in_words(number // size)} {name}" + (joint + in_words(rest) if rest else "")
    if number >= 100:
        rest = number % 100
        return f"{_ONES[number // 100]} hundred" + (f" and {in_words(rest)}" if rest else "")
    if number >= 20:
        return _TENS[number // 10 - 2] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    return _ONES[number]

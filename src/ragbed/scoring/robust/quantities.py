"""Find numbers with their units in folded text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from ragbed.scoring.robust.numerals import CHINESE, ENGLISH, SIGNS, WORDS, chinese_value, english_value
from ragbed.scoring.robust.patterns import Terms, lazy, words
from ragbed.scoring.robust.units import DOLLARS, SCALES, UNITS


class Quantity(NamedTuple):
    """A number, its unit and its position.

    Attributes:
        unit: A key of `units`, `~noun` for any other noun, or nothing.
    """

    value: Decimal
    unit: str
    start: int
    end: int


_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_DIGITS = lazy(
    # Starts with a character and not with a lookbehind (for 170, 12.3, covid-19), which is faster.
    r"(?P<number>[0-9](?<![a-z0-9].)(?<![0-9][.,].)(?<![a-z]-.)"
    r"(?:[0-9]{0,2}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+(?![0-9]))|[0-9]*)(?:\.[0-9]+)?)"
    r"(?![0-9]|[.,][0-9])(?![十万亿]|百(?!分)|千(?![米克瓦卡]))"  # these are read as Chinese numerals
    rf"(?:[ -]?(?P<scale>{_SCALE})(?![a-z2]))?"
)
_MONEY_BEFORE = frozenset("$€£¥ ")
_CURRENCY = lazy(r"(?:us\$|[$€£¥]) ?$")
_AFTER = lazy(
    r"[ -]{0,2}(per cent|percentage points?|years? old|"
    rf"(?:{'|'.join(map(re.escape, DOLLARS))}) dollars?(?![a-z])|"
    r"[a-z]+2?|[%°℃$€£¥]c?|[\u4e00-\u9fff]{1,5})"
)
_MINUS = lazy(
    # Does not match the dash in 10-12, 10 -12, covid-19 or a list.
    r"(?:(?<![^\s(\[:=,\"'是为约达到至$€£¥])(?<![0-9] )-"
    r"|(?<![0-9] )(?<!tested )\b(?:minus|negative) |零下|(?<![0-9胜平一二三四五六七八九十])负)$"
)
_MINUS_ENDS = frozenset("- 下负")
_NOT_COUNTED = lazy(
    r"(?:第|\b(?:(?:document|doc|passage|source|article)(?: number)?|no\.)s? ?"
    r"|文档 ?|文章|资料|\[)$"
)
_LISTED = lazy(r", | and (?!a half|a quarter|three quarters)")
_LIST_MARK = lazy(r"[.)、]\s*\S")
_STOP = words(
    "in at on by of the and or to for from with was were is are has had have as per it its this that these those "
    "which who when where while but so than then there after before during since until up down over under between "
    "including respectively also only each a an according votes"
)
# Units of several words, by their first eight characters.
_PHRASES = {"per cent": "%", "percenta": "%", "year old": "year", "years ol": "year"}
_FIRST_CHARACTERS = frozenset(unit[0] for unit in UNITS)
_LONE_BEFORE = lazy(r"(?:是|为|共|有|达|[,:(\"。\n]|^)$")
_LONE_AFTER = lazy(r"[,.。;!?\n)\"]|$")


def find_quantities(text: str, terms: Terms) -> list[Quantity]:
    """Return all quantities in a text with masked dates. A span can have two readings."""
    found = _in_digits(text)
    if not terms.isdisjoint(WORDS):
        found += _in_english(text)
    if not terms.isdisjoint(SIGNS):
        found += _in_chinese(text)
    return found


def _in_digits(text: str) -> list[Quantity]:
    found: list[Quantity] = []
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        unit = _unit_after(text, end)
        if unit is None or not _is_counted(text, start, match.end("number")):
            continue
        name, stop = unit
        if text[start - 1 : start] in _MONEY_BEFORE and (currency := _CURRENCY.search(text, max(0, start - 4), start)):
            name, stop, start = UNITS[currency[0].strip()], end, currency.start()
        elif text.endswith("百分之", max(0, start - 3), start):
            name, start = "%", start - 3
        sign, start = _sign_before(text, start)
        number, scale = sign * Decimal(match["number"].replace(",", "").replace(" ", "")), match["scale"]
        if scale == "m":  # 5.1m can be metres or millions
            found.append(Quantity(number, "m", start, end))
        found.append(Quantity(number * SCALES[scale] if scale else number, name, start, stop))
    return found


def _in_english(text: str) -> Iterator[Quantity]:
    for start, end in _spans_en(text):
        words = text[start:end]
        value = english_value(words)
        unit = _unit_after(text, end)
        in_digits = text[max(0, start - 2) : start].rstrip(" -")[-1:].isdigit()  # 44 billion
        if value is not None and unit is not None and words != "one" and not in_digits:
            sign, first = _sign_before(text, start)
            yield Quantity(sign * value, unit[0], first, unit[1])


def _spans_en(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the numbers in words; 'six and eight' are two."""
    for match in ENGLISH.finditer(text):
        if english_value(match[0]) is not None:
            yield match.span()
            continue
        at = match.start()
        for stop in [*(each.start() for each in _LISTED.finditer(match[0])), len(match[0])]:
            yield at, match.start() + stop
            listed = _LISTED.match(match[0], stop)
            at = match.start() + (listed.end() if listed else stop)


def _in_chinese(text: str) -> Iterator[Quantity]:
    for match in CHINESE.finditer(text):
        start, end = match.span()
        if match[0][0] in "万亿" or text[start - 1 : start] == "第" or text[start - 1 : start].isdigit():
            continue
        name, stop = _unit_after(text, end) or ("", end)
        first = start
        if text.endswith("百分之", max(0, start - 3), start):
            name, first = "%", start - 3
        sign, first = _sign_before(text, first)
        # 一 and 百 occur in many words, so a single numeral counts only with a unit or alone.
        if end - start > 1 or name or _stands_alone(text, first, end):
            yield Quantity(sign * chinese_value(match[0]), name, first, stop)


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = _LONE_BEFORE.search(text, max(0, start - 1), start)
    return before is not None and _LONE_AFTER.match(text, end) is not None


def _sign_before(text: str, start: int) -> tuple[int, int]:
    """Return the sign of a number and the position where the number with its sign starts."""
    if text[start - 1 : start] not in _MINUS_ENDS:
        return 1, start
    minus = _MINUS.search(text, max(0, start - 10), start)
    return (-1, minus.start()) if minus else (1, start)


def _is_counted(text: str, start: int, end: int) -> bool:
    """Return whether a number is a quantity rather than the number of a document, list item or series."""
    before = text[start - 1 : start]
    if (before.isascii() or before in "第档章料") and _NOT_COUNTED.search(text, max(0, start - 12), start):
        return False
    if end - start > 2 or not _LIST_MARK.match(text, end):
        return True
    return bool(text[text.rfind("\n", 0, start) + 1 : start].strip())


def _unit_after(text: str, end: int) -> tuple[str, int] | None:
    """Return the unit that follows and its end, or None if attached letters make the number a name (747s, 3rd)."""
    if text[end : end + 1] >= "\u4e00":
        known = _known_length(text[end : end + 5])
        return UNITS.get(text[end : end + known], ""), end + known
    match = _AFTER.match(text, end)
    if match is None:
        return "", end
    word = match[1]
    if word[0] >= "\u4e00":
        known = _known_length(word)
        return UNITS.get(word[:known], ""), (match.start(1) + known if known else end)
    unit = UNITS.get(word) or _PHRASES.get(word[:8]) or DOLLARS.get(word.rpartition(" ")[0])
    if unit:
        return unit, match.end()
    if match.start(1) == end:
        return None
    return (f"~{word.removesuffix('s')}", match.end()) if word.endswith("s") and word not in _STOP else ("", end)


def _known_length(word: str) -> int:
    """Return the length of the longest unit with which a Chinese text starts, or 0."""
    if word[0] in _FIRST_CHARACTERS:
        for length in range(len(word), 0, -1):
            if word[:length] in UNITS:
                return length
    return 0

"""Find numbers with their units in folded text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from ragbed.scoring.robust.numerals import CHINESE, ENGLISH, SIGNS, WORDS, chinese_value, english_value
from ragbed.scoring.robust.patterns import Terms, lazy, words
from ragbed.scoring.robust.units import SCALES, UNITS, to_base


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
    # The search is faster if the pattern starts with a character. The lookbehinds exclude matches inside 170, 12.3,
    # 10^5 and covid-19, but not 46 in 2h46m.
    r"(?P<number>[0-9](?:(?<![a-z0-9^].)|(?<=[0-9]h.))(?<![0-9][.,].)(?<![a-z]-.)"
    r"(?:[0-9]{0,2}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+(?![0-9]))|[0-9]*)(?:\.[0-9]+)?)"
    r"(?![0-9^]|[.,][0-9])(?![十万亿]|百(?!分)|千(?![米克瓦卡]))"  # excludes Chinese numerals such as 440亿
    rf"(?:[ -]?(?P<scale>{_SCALE})(?![a-z2]))?"
)
_MONEY_SIGNS = frozenset("$€£¥")
_CURRENCY = lazy(r"(?:us\$|[$€£¥]) ?$")
_AFTER = lazy(
    r"[ -]{0,2}(per cent|percentage points?|years?[ -]old|"
    r"(?:miles|km|kilomet(?:re|er)s) (?:per|an) hour|(?:km|mi)/hr?(?![a-z])|"
    r"(?:degrees?|deg|°) (?:fahrenheit|celsius|centigrade|[cf])(?![a-z])|"
    r"(?:u\.?s\.?|american) dollars?(?![a-z])|(?:square|sq\.?|cubic) [a-z]+|"
    r"[a-z]+2?|[%°℃$€£¥][cf]?|[^\W\da-z_]{1,5})"
)
_MINUS = lazy(
    # A minus sign, but not the dash in 10-12, 10 -12, covid-19 or a list.
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
_INDENT = 12  # maximum number of characters to examine before a list number
_STOP = words(
    "in at on by of the and or to for from with was were is are has had have as per it its this that these those "
    "which who when where while but so than then there after before during since until up down over under between "
    "including respectively also only each a an according votes"
)
# Units written as phrases, keyed by the first eight characters of each phrase.
_PHRASES = {
    "per cent": "%",
    "percenta": "%",
    **dict.fromkeys(("us dolla", "u.s. dol", "u.s doll", "american"), "usd"),
    "year old": "age",
    "years ol": "age",
    **dict.fromkeys(("miles pe", "miles an", "mi/h", "mi/hr"), "mile"),
    **dict.fromkeys(("kilometr", "kilomete", "km per h", "km an ho", "km/h", "km/hr"), "km"),
}
_FIRST_CHARACTERS = frozenset(unit[0] for unit in UNITS)
# `_TO` matches the text between the two ends of a range. `_CHANGED` matches words that introduce a change or a score
# instead of a range.
_TO = lazy(r" to | ?[~至到] ?|(?P<dash>-)|(?P<both> and )")
_CHANGED = lazy(
    r"(?:\b(?:from|won|wins?|lost|loses?|beats?|scored?|voted?|by|defeat\w*|drew|draw|ratio|tally)\b[^.;]{0,24}"
    r"|\b(?:r[io]se|rais|fell|fall|gr[eo]w|sl[io]d|shrank|sank|up|down|cut|increas|climb|dropp|jump|gain|add|declin|surg"
    r"|soar|slipp|plung|tumbl|advanc|edg|ralli|expand|swell|improv|narrow|widen|reduc|lower|boost)[a-z]* (?:\w+ )?"
    r"|[从由自].{0,6}|(?:[涨跌升降增减调胜负平战败]|扩大|缩[小短]|延长|提高).{0,2}|比分.{0,3})$"
)
_SCALE_VALUES = SCALES | {"万": 10**4, "亿": 10**8}
_SCALE_AFTER = lazy("thousand|million|billion|万|亿")
_RANGE_REACH = 40  # maximum number of characters to examine before a range
_MAX_RATIO = 10  # maximum ratio of the upper end of a range to its lower end
_FIRST_YEAR, _LAST_YEAR = 1000, 2100
JOINED = lazy(",?(?: and)? |[零又]?")  # text between the parts of a quantity, as in '2 hours and 5 minutes'
_LONE_BEFORE = lazy(r"(?:是|为|共|有|达|[,:(\"。\n]|^)$")
_LONE_AFTER = lazy(r"[,.。;!?\n)\"]|$")


def find_quantities(text: str, terms: Terms) -> list[Quantity]:
    """Return all quantities in a text whose dates are masked. One span can have two readings."""
    found: list[Quantity] = []
    if not terms.isdisjoint("0123456789"):
        found += _in_digits(text)
    if "half" in terms or not terms.isdisjoint(WORDS):
        found += _in_english(text)
    if not terms.isdisjoint(SIGNS):
        found += _in_chinese(text)
    return found


def as_sum(text: str, quantities: Sequence[Quantity]) -> Quantity | None:
    """Return the total of a text that consists of one quantity in two units, e.g. '2 h 46 min', or None."""
    for first, second in pairwise(sorted(quantities, key=lambda each: each.start)):
        if (first.start, second.end) != (0, len(text)) or not JOINED.fullmatch(text, first.end, second.start):
            continue
        value, base = to_base(first.value, first.unit)
        more, same = to_base(second.value, second.unit)
        if base and base == same and first.unit != second.unit:
            return Quantity(value + more, base, 0, len(text))
    return None


def find_partial(text: str, quantities: Sequence[Quantity]) -> set[tuple[int, int]]:
    """Return the spans of quantities that are only one end of a range, as in '5 to 10'."""
    found = set()
    for first, second in pairwise(sorted(quantities, key=lambda each: each.start)):
        if first.end <= second.start and _are_range(text, first, second):
            found |= {(first.start, first.end), (second.start, second.end)}
    return found


def _are_range(text: str, first: Quantity, second: Quantity) -> bool:
    """Return whether two numbers are the ends of a range.

    The condition is strict, because 'to' also separates a change from its result ('rose 5% to 10 million').
    """
    link = _TO.fullmatch(text, first.end, second.start)
    if link is None or first.unit not in ("", second.unit) or (link["dash"] and not second.unit):
        return False
    scale = _SCALE_AFTER.search(text, second.start, second.end)
    least = first.value * _SCALE_VALUES[scale[0]] if scale and not first.unit else first.value  # '40 to 50 million'
    if not any(lower < second.value <= _MAX_RATIO * lower for lower in (first.value, least)):
        return False
    is_year = not first.unit and _FIRST_YEAR <= first.value <= _LAST_YEAR
    before = text[max(0, first.start - _RANGE_REACH) : first.start]
    return before.endswith("between ") if link["both"] else not is_year and _CHANGED.search(before) is None


def _in_digits(text: str) -> list[Quantity]:
    found: list[Quantity] = []
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        unit = _unit_after(text, end)
        if unit is None or text.startswith("年级", end):
            continue
        if not _is_counted(text, start, match.end("number")):
            continue
        name, stop = unit
        is_money = not _MONEY_SIGNS.isdisjoint(text[max(0, start - 2) : start])
        if is_money and (currency := _CURRENCY.search(text, max(0, start - 4), start)):
            name, stop, start = UNITS[currency[0].strip()], end, currency.start()
        elif text.endswith("百分之", max(0, start - 3), start):
            name, start = "%", start - 3
        sign, start = _sign_before(text, start)
        number, scale = sign * Decimal(match["number"].replace(",", "").replace(" ", "")), match["scale"]
        if scale == "m" and found and found[-1].unit == "hour" and start - found[-1].end < 2:  # 2h 46m
            found.append(Quantity(number, "minute", start, end))
            continue
        if scale == "m":  # 5.1m can be metres or millions
            found.append(Quantity(number, "m", start, end))
        found.append(Quantity(number * SCALES[scale] if scale else number, name, start, stop))
    return found


def _in_english(text: str) -> Iterator[Quantity]:
    for start, end in _spans_en(text):
        words = text[start:end]
        value = english_value(words)
        unit = _unit_after(text, end)
        in_digits = text[max(0, start - 2) : start].rstrip(" -")[-1:].isdigit()  # e.g. 44 billion
        if value is not None and unit is not None and words != "one" and not in_digits:
            sign, first = _sign_before(text, start)
            yield Quantity(sign * value, unit[0], first, unit[1])


def _spans_en(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of numbers in English words; 'six and eight' yields two spans."""
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
        before = text[start - 1 : start]
        if match[0][0] in "万亿" or before == "第" or before.isdigit() or text.startswith("年级", end):
            continue
        name, stop = _unit_after(text, end) or ("", end)
        first = start
        if text.endswith("百分之", max(0, start - 3), start):
            name, first = "%", start - 3
        sign, first = _sign_before(text, first)
        # 一 and 百 occur in many words, so a single numeral counts only if it has a unit or stands alone.
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
    """Return whether a number is a quantity rather than the identifier of a document, list item or series."""
    before = text[start - 1 : start]
    if (before.isascii() or before in "第档章料") and _NOT_COUNTED.search(text, max(0, start - 12), start):
        return False
    if end - start > 2 or not _LIST_MARK.match(text, end):
        return True
    if text[max(0, start - _INDENT) : start].rpartition("\n")[2].strip(" (|"):
        return True
    if text[end] == "、" and text[end + 1].isdigit():  # 8、9 are two answers
        return True
    # The first number of a list never has two digits.
    return start == 0 and end == 2 and text[0] != "0" and text[end] == "."


def _unit_after(text: str, end: int) -> tuple[str, int] | None:
    """Return the unit after a number and the unit's end, or None if letters are attached to the number (747s, 3rd)."""
    if text[end : end + 1] >= "\u4e00":
        known = _known_length(text[end : end + 5])
        return UNITS.get(text[end : end + known], ""), end + known
    match = _AFTER.match(text, end)
    if match is None:
        return "", end
    word = match[1]
    if word[0].isalnum() and not word.isascii():
        known = _known_length(word)
        return UNITS.get(word[:known], ""), (match.start(1) + known if known else end)
    unit = UNITS.get(word) or _PHRASES.get(word[:8]) or _compound_unit(word)
    if unit:
        return unit, match.end()
    if match.start(1) == end:
        return None
    return (f"~{word.removesuffix('s')}", match.end()) if word.endswith("s") and word not in _STOP else ("", end)


def _compound_unit(phrase: str) -> str:
    """Return the unit for 'square kilometres' or 'degrees Celsius', or an empty string if the unit is unknown."""
    first, _, last = phrase.partition(" ")
    power = "" if first.startswith(("deg", "°")) else 3 if first == "cubic" else 2
    return f"{UNITS[last]}{power}" if last in UNITS else ""


def _known_length(word: str) -> int:
    """Return the length of the longest unit at the start of a Chinese text, or 0 if there is none."""
    if word[0] in _FIRST_CHARACTERS:
        for length in range(len(word), 0, -1):
            if word[:length] in UNITS:
                return length
    return 0

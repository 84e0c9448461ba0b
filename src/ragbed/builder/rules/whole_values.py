"""Check whether a value in a sentence is complete or only part of a longer value, such as "4 h 09 min" or 28×21厘米."""

from __future__ import annotations

import re

from ragbed.schema import Lang

_MONEY = re.compile(r"^[£$€¥]|[元镑]$|\b(?:dollars|euros|pounds|francs|crowns|cents|pence)$")
_NUMERAL = "[零〇一二两三四五六七八九十百千万]"
_LARGER = (
    r"(?:centuries|century|decades?|years?|yrs?|months?|weeks?|days?|hours?|hrs?|h|minutes?|mins?|miles?|furlongs?"
    r"|chains?|yards?|yds?|feet|foot|ft|fathoms?|km|m|metres?|meters?|stone|st|pounds?|lbs?|tons?|tonnes?|cwt|kg"
    r"|gallons?|litres?|degrees?|shillings?|s|crowns?|dollars?|euros?|francs?|acres?|hectares?|ha)"
)
_SMALLER = (
    r"(?:months?|weeks?|days?|hours?|hrs?|h|minutes?|mins?|seconds?|secs?|s|yards?|feet|ft|inches|inch|in(?! [\da-z])"
    r"|cm|mm|m|metres?|meters?|centimetres?|millimetres?|stone|pounds?|lbs?|ounces?|oz|kg|g|grams?|cwt|pints?|ml"
    r"|shillings?|pence|penny|d|cents?|centimes|roods?|perches|square metres)"
)
_COUNT = (
    r"(?:\d[\d.,]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]+teen|[a-z]+ty(?:-[a-z]+)?))"
)
_JOINED = r"(?:\.?(?:,? and)? |\b(?=\d))"
_CHINESE_LARGER = (
    "(?:世纪|年|个?月|周|星期|天|日|个?小时|钟头|时|分钟?|公里|千米|里|米|丈|尺|寸|公斤|千克|斤|吨|元|块|角|度"
    "|亩|公顷|顷|升|石|斗|两)"
)
_CHINESE_SMALLER = (
    "(?:个?月|周|天|日|个?小时|分钟?|刻钟?|秒钟?|里|米|尺|寸|厘米|公分|毫米|公斤|斤|两|钱|克|元|角|毛|分|亩"
    "|平方米|毫升|升|斗|合)"
)
# Parts of a longer value: a smaller unit or a fraction after the answer, or a larger unit before the answer.
_REST: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        rf" ?{_LARGER}{_JOINED}{_COUNT}(?: ?{_SMALLER}\b|[,.;)]|$)"
        "|(?: [a-z]+)? and (?:a|one|two|three)[ -](?:half|quarter|third)|½|¼|¾| ½"
    ),
    "zh": re.compile(
        rf"[零又]?(?:\d+(?:\.\d+)?|{_NUMERAL}+){_CHINESE_SMALLER}|[零又半]|[一二三四五六七八九](?![\u4e00-\u9fff])"
    ),
}
_WHOLE: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(rf"(?:^|[\s(]){_COUNT} ?{_LARGER}{_JOINED}$"),
    "zh": re.compile(rf"(?:\d|{_NUMERAL}){_CHINESE_LARGER}[零又]?$"),
}


_NUMBER: dict[Lang, re.Pattern[str]] = {"en": re.compile(rf"{_COUNT}\b"), "zh": re.compile(rf"\d|{_NUMERAL}")}
_DATE = re.compile(r"\d{4}年$|[月日]$|[a-z] \d{4}$|^\d+ [A-Z]")
_IN_SMALLER = re.compile(f"{_CHINESE_SMALLER}$")
_BEFORE_SMALLER = re.compile(rf" ?(?:{_SMALLER}\b|[,.;)]|$)")
# More digits or another dimension next to a number, e.g. 18 437, 2,255 or 28×21厘米.
_DIGITS_BEFORE = re.compile(r"(?<![\d.,])\d{1,3}[\s,]$")
_DIGITS_AFTER = re.compile(r"\s\d{3}(?!\d)")
_OTHER_SIDE_BEFORE = re.compile(r"\d ?[^\W\d_]{0,11} ?(?:[×✕✖*±∶]| [xX]|乘以?) ?$|\d(?:[xX/:]| by )$")
_OTHER_SIDE_AFTER = re.compile(r" ?[^\W\d_]{0,11} ?(?:[×✕✖*±∶]| [xX] |乘以?) ?\d|(?:[xX/:]| by )\d")
_RATE = re.compile(r"\s?[/／]\s?[^\W\d]|每[^\W\d]|[ -]per\b(?! ?cent)|-[a-z]")
_WITH_UNIT = re.compile(r"\d\D*[^\W\d_]$|[²³%°]$")
_HAN = re.compile("[\u4e00-\u9fff]")


def is_whole_value(answer: str, sentence: str) -> bool:
    """Check that an answer is not part of a longer value, e.g. 437辆 in 18 437辆 or 28.4米 in 28.4米/秒."""
    at = sentence.find(answer)
    while at >= 0:
        before, after = sentence[:at], sentence[at + len(answer) :]
        if _is_part_of_number(answer, before, after) or _is_part_of_measure(answer, before, after):
            return False
        if _WITH_UNIT.search(answer) and not _MONEY.search(answer) and _RATE.match(after):
            return False
        at = sentence.find(answer, at + len(answer))
    return True


def _is_part_of_number(answer: str, before: str, after: str) -> bool:
    """Check whether a number is only one group of digits in a longer number, or one of several dimensions."""
    if not re.match(r"[£$€¥]? ?\d", answer):
        return False
    is_rest = re.match(r"\d{3}(?!\d)", answer) and _DIGITS_BEFORE.search(before)
    is_start = re.search(r"(?<![\d.,])\d{1,3}$", answer) and _DIGITS_AFTER.match(after)
    is_side = _OTHER_SIDE_BEFORE.search(before) or _OTHER_SIDE_AFTER.match(after)
    return bool(is_rest or is_start or is_side)


def _is_part_of_measure(answer: str, before: str, after: str) -> bool:
    """Check whether a value is part of a measurement in several units, e.g. "4 h 09 min", 4小时9分, "6 ft 2 in"."""
    lang: Lang = "zh" if _HAN.search(answer) else "en"
    if not _NUMBER[lang].match(answer.lower()) or _DATE.search(answer):
        return False
    is_smaller = _IN_SMALLER.search(answer) if lang == "zh" else _BEFORE_SMALLER.match(after)
    return _REST[lang].match(after) is not None or bool(is_smaller and _WHOLE[lang].search(before))

"""Read times of day in any notation: 8:30 PM, 20:30, half past eight and 晚上八点半."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragbed.scoring.robust.numerals import chinese_value, english_value
from ragbed.scoring.robust.patterns import lazy

# For each part of the day, the hours that are in the afternoon or evening: 晚上8点 is 20:00, but 晚上1点 is 1:00.
_PARTS = {
    **dict.fromkeys(("凌晨", "清晨", "早上", "早晨", "早", "上午"), range(0)),
    "中午": range(1, 4),
    **dict.fromkeys(("午后", "下午", "傍晚"), range(1, 12)),
    **dict.fromkeys(("晚上", "晚间", "今晚", "当晚", "晚"), range(5, 12)),
    **dict.fromkeys(("夜里", "深夜", "半夜"), range(6, 12)),
}
_WITH_MIDNIGHT = re.compile("凌晨|[晚夜]")  # 12点 is midnight in these parts of the day
_HOURS = "one two three four five six seven eight nine ten eleven twelve".replace(" ", "|")
_ENGLISH = lazy(
    r"(?<![0-9a-z:.])(?:(?:at )?(?:(?P<hour>[01]?[0-9]|2[0-3])(?:(?P<separator>[:.])(?P<minute>[0-5][0-9])"
    rf"(?::[0-5][0-9])?)?|(?:(?P<count>half|quarter|[a-z-]+) (?P<link>past|to) )?(?P<word>{_HOURS}))"
    r"(?P<clock> o'clock)?(?: ?(?P<half>[ap]\.?m\b\.?|in the (?:morning|afternoon|evening)|at night))?"
    r"|(?P<name>noon|midnight|正午|午夜))(?![0-9])"
)
_NUMBER = "[0-9]{1,2}|[零〇一二两三四五六七八九十]{1,3}"
# Without 分, the minutes have two digits: 六点四 is the decimal number 6.4.
_CHINESE = lazy(
    rf"(?<![0-9:.])(?P<part>{'|'.join(_PARTS)})?(?P<hour>{_NUMBER})(?:[点时]过?(?:(?P<minute>{_NUMBER})分"
    r"|(?P<tens>[二三四五]?十[一二三四五六七八九]?)|(?P<digits>[0-9]{2}|[零〇][一二三四五六七八九])"
    r"|(?P<rest>半|[一三]刻)|整|钟)?(?![0-9半零〇一二三四五六七八九十])|:(?P<clock>[0-5][0-9])(?![0-9]))"
)
_RESTS = {"半": 30, "一刻": 15, "三刻": 45}
_ASKS_TIME = lazy(
    r"\bwhen(?:'s| (?:did|do|does|is|was|are|were|will|would|can|has|have|had|should))\b"
    r"|\btime\b|几点|几时|何时|时[间候刻]"
)
# Matches questions for a score or a duration, which can also be written as 3:10.
_ASKS_OTHER = lazy(
    r"\b(?:scores?|winning|records?|how (?:long|much)|duration|runtime|running time|(?:half|full)[ -]?time|extra time"
    r"|at (?:the|that|this) time)\b|\bwhat (?:is|was|were) the (?:\w+ )?results?\b"
    r"|比分|赛果|成绩|[记纪]录|时长|用时|耗时|历时|多久|多长|多少时间"
)


class Time(NamedTuple):
    """The readings of a time of day, as minutes since midnight, and its position in the text."""

    readings: frozenset[int]
    start: int
    end: int


def read_time(folded: str, question: str) -> frozenset[int]:
    """Return the readings of a folded alias that is a time of day, or an empty set for any other alias.

    '3:10' is a time only if the question asks for one. An hour without a part of the day can be in the morning or in
    the evening.
    """
    is_other = _ASKS_OTHER.search(question) is not None
    asks_time = not is_other and _ASKS_TIME.search(question) is not None
    if (found := _ENGLISH.fullmatch(folded)) and not found["word"]:
        is_time = found["half"] or found["name"] or (found["separator"] == ":" and asks_time)
        return _read_english(found, is_open=not (found["hour"] or "0").startswith("0")) if is_time else frozenset()
    if folded == "零点":
        return frozenset({0})
    found = None if folded.isascii() else _CHINESE.fullmatch(folded)
    if found and (found["part"] or found["tens"] or asks_time or (found["minute"] and not is_other)):
        return _read_chinese(found, is_open=True)
    return frozenset()


def find_times(text: str) -> Iterator[Time]:
    """Yield the times of day in a folded text."""
    taken = []
    for found in () if text.isascii() else _CHINESE.finditer(text):
        taken.append(found.span())
        yield Time(_read_chinese(found, is_open=False), *found.span())
    for found in _ENGLISH.finditer(text):
        is_marked = found["half"] or found["clock"] or found["link"] or found["name"] or found["separator"] == ":"
        if is_marked and not any(start < found.end() and found.start() < end for start, end in taken):
            yield Time(_read_english(found, is_open=not found["hour"] or bool(found["clock"])), *found.span())


def _read_english(found: re.Match[str], *, is_open: bool) -> frozenset[int]:
    if found["name"]:
        return frozenset({720 if found["name"] in ("noon", "正午") else 0})
    hour = int(found["hour"] or english_value(found["word"]) or 1)
    minute = int(found["minute"] or 0)
    if found["link"]:
        count = {"half": 30, "quarter": 15}.get(found["count"]) or english_value(found["count"])
        if count is None:
            return frozenset()
        hour, minute = (hour, int(count)) if found["link"] == "past" else ((hour - 1) % 12, 60 - int(count))
    half = (found["half"] or "").strip()
    if half and 1 <= hour <= 12:
        is_night = half == "at night" and (hour == 12 or hour < 6)
        is_morning = (half[0] == "a" and half != "at night") or "morning" in half or is_night
        return frozenset({60 * (hour % 12 + (0 if is_morning else 12)) + minute})
    return _either(hour, minute) if is_open and hour <= 12 else frozenset({60 * hour + minute})


def _read_chinese(found: re.Match[str], *, is_open: bool) -> frozenset[int]:
    hour, part = int(chinese_value(found["hour"])), found["part"]
    minutes = found["minute"] or found["tens"] or found["digits"] or found["clock"] or "0"
    minute = _RESTS.get(found["rest"]) or int(chinese_value(minutes))
    if not part and is_open and 0 < hour <= 12:
        return _either(hour, minute)
    if part and hour in _PARTS[part]:
        hour += 12
    elif hour == 12 and part and _WITH_MIDNIGHT.search(part):
        hour = 0
    return frozenset({60 * hour + minute}) if hour < 24 and minute < 60 else frozenset()


def _either(hour: int, minute: int) -> frozenset[int]:
    """Return the times in the morning and in the evening."""
    return frozenset(60 * (hour % 12 + add) + minute for add in (0, 12))

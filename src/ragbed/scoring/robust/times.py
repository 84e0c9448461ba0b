"""Build patterns for times of day, which match in any notation: 8:30 PM, 20:30 and 晚上八点半."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.scoring.robust.numerals import chinese_value
from ragbed.scoring.robust.patterns import lazy
from ragbed.scoring.robust.variants import in_han
from ragbed.text import in_words

_CLOCK = lazy(r"(?:at )?(?P<hour>[01]?[0-9]|2[0-3])(?:[:.](?P<minute>[0-5][0-9]))?(?: ?(?P<half>[ap])\.?m)?")
_EVENING, _NIGHT = ("晚上", "晚间", "今晚", "当晚", "晚"), ("夜里", "深夜", "半夜")
# For each part of the day, the hours that are in the afternoon or evening: 晚上8点 is 20:00, but 晚上1点 is 1:00.
_PARTS = {
    **dict.fromkeys(("凌晨", "清晨", "早上", "早晨", "早", "上午"), range(0)),
    "中午": range(1, 4),
    **dict.fromkeys(("午后", "下午", "傍晚"), range(1, 12)),
    **dict.fromkeys(_EVENING, range(5, 12)),
    **dict.fromkeys(_NIGHT, range(6, 12)),
}
_WITH_MIDNIGHT = frozenset({"凌晨", *_EVENING, *_NIGHT})  # 12点 is midnight in these parts of the day
_NUMBER = "[0-9]{1,2}|[零〇一二两三四五六七八九十]{1,3}"
# Without 分, the minutes have two digits: 六点四 is the decimal number 6.4. If they contain 十, it is surely a time.
_CLOCK_ZH = lazy(
    rf"(?P<part>{'|'.join(_PARTS)})?(?P<hour>{_NUMBER})(?:[点时](?:(?P<minute>{_NUMBER})分"
    r"|(?P<tens>[二三四五]?十[一二三四五六七八九]?)|(?P<digits>[0-9]{2}|[零〇][一二三四五六七八九])"
    r"|(?P<half>半)|整|钟)?|:(?P<clock>[0-5][0-9]))"
)
_NAMED = {"noon": "12 pm", "midnight": "12 am", "正午": "12 pm", "午夜": "12 am", "零点": "12 am"}
_NAMES = {0: ("midnight", "午夜"), 12: (r"noon\b", "正午")}
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
_WORDS = {"a": r"a\.?m\b|in the morning", "p": r"p\.?m\b|in the (?:afternoon|evening)"}


def time_pattern(folded: str, question: str) -> str:
    """Return a pattern for a folded alias that is a time of day, or an empty string for any other alias.

    Args:
        folded: The folded alias.
        question: The folded question; '3:10' is a time only if the question asks for one.
    """
    folded = _NAMED.get(folded, folded)
    clock = _CLOCK.fullmatch(folded)
    found = None if folded.isascii() else _CLOCK_ZH.fullmatch(folded)
    if clock is None and found is None:
        return ""
    is_other = _ASKS_OTHER.search(question) is not None
    asks_time = not is_other and _ASKS_TIME.search(question) is not None
    if clock is not None:
        hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
        if clock["half"]:
            is_time = 1 <= hour <= 12
            hour, half = hour % 12 + 12 * (clock["half"] == "p"), clock["half"]
        else:
            is_time = ":" in folded and asks_time
            half = "" if _is_open(clock["hour"]) else "ap"[hour >= 12]
        return _pattern(hour, minute, half) if is_time else ""
    if found is None or not (found["part"] or found["tens"] or asks_time or (found["minute"] and not is_other)):
        return ""
    hour = int(chinese_value(found["hour"]))
    minutes = found["minute"] or found["tens"] or found["digits"] or found["clock"] or "0"
    minute = 30 if found["half"] else int(chinese_value(minutes))
    is_open = not found["part"] and _is_open(str(hour))
    if found["part"]:
        hour = _in_24_hours(found["part"], hour)
    return _pattern(hour, minute, "" if is_open else "ap"[hour >= 12]) if hour < 24 and minute < 60 else ""


def _is_open(hour: str) -> bool:
    """Return whether an hour without a part of the day can be in the morning or in the evening, such as 8:30."""
    return not hour.startswith("0") and int(hour) <= 12


def _in_24_hours(part: str, hour: int) -> int:
    """Return the hour from 0 to 23 for an hour in a part of the day."""
    if hour in _PARTS[part]:
        return hour + 12
    return 0 if hour == 12 and part in _WITH_MIDNIGHT else hour


def _not_after_other_part(hour: int) -> str:
    """Return lookbehinds that exclude an hour after a part of the day in which it is another hour (下午2点)."""
    return "".join(f"(?<!{part})" for part in _PARTS if _in_24_hours(part, hour) != hour)


def _pattern(hour: int, minute: int, half: str) -> str:
    """Return a pattern for a time in the morning (half is 'a'), in the afternoon ('p') or in either ('')."""
    if not half:
        return "|".join(_pattern(each, minute, "ap"[each >= 12]) for each in (hour % 12, hour % 12 + 12))
    return rf"(?<![0-9a-z:.])(?:{'|'.join([*_english(hour, minute, half), *_chinese(hour, minute)])})"


def _english(hour: int, minute: int, half: str) -> Iterator[str]:
    short = hour % 12 or 12
    night = "a" if short == 12 or short in range(1, 6) else "p"
    words = {key: f"{pattern}|at night" if key == night else pattern for key, pattern in _WORDS.items()}
    stated = f"(?:{'|'.join(words[key] for key in half)})"
    elsewhere = "".join(f"(?! ?(?:{pattern}))" for key, pattern in words.items() if key not in half)
    yield rf"0?{short}(?:[:.]{minute:02}){'' if minute else '?'} ?{stated}"
    yield rf"{_not_after_other_part(hour)}0?{hour}:{minute:02}(?::[0-5][0-9])?(?![0-9]){elsewhere}"
    now, later = in_words(short), in_words((hour + 1) % 12 or 12)
    if not minute:
        yield rf"(?:{now}|{short})(?: o'clock)? {stated}"
        yield rf"(?:{now}|{short}) o'clock{elsewhere}"
        yield from _NAMES.get(hour, ())
    elif minute in (15, 30):
        yield rf"{'quarter' if minute == 15 else 'half'} past {now}\b{elsewhere}"
    elif minute == 45:
        yield rf"quarter to {later}\b{elsewhere}"
    elif minute % 5 == 0:
        past = f"{in_words(minute)} past {now}" if minute < 30 else f"{in_words(60 - minute)} to {later}"
        yield rf"{past}\b{elsewhere}"


def _chinese(hour: int, minute: int) -> Iterator[str]:
    end = "(?![0-9半零〇一二三四五六七八九十])"
    minutes = rf"(?:整|钟|00分?|零分)?{end}"
    if minute:
        spoken = rf"{minute}|{in_han(minute)}" if minute >= 10 else rf"0{minute}|[零〇]{in_han(minute)}"
        quarter = {15: "|一刻", 30: "|半", 45: "|三刻"}.get(minute, "")
        minutes = rf"过?(?:(?:{spoken})(?:分|{end})|(?:{minute}|{in_han(minute)})分{quarter})"
    short = hour % 12 or 12
    parts = "|".join(part for part in _PARTS if _in_24_hours(part, short) == hour)
    if parts:
        yield rf"(?:{parts})(?:(?:0?{short}|{_hour_in_han(short)})[点时]{minutes}|0?{short}:{minute:02}(?![0-9]))"
    hours = rf"0?{hour}|(?<![一二三四五六七八九十]){_hour_in_han(hour)}"
    yield rf"{_not_after_other_part(hour)}(?:{hours})[点时]{minutes}"


def _hour_in_han(hour: int) -> str:
    return "[二两]" if hour == 2 else in_han(hour) or "零"

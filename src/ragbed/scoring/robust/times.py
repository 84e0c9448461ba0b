"""Build patterns for times of day, which match in any notation: 8:30 PM, 20:30 and 晚上八点半."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.scoring.robust.patterns import lazy
from ragbed.text import in_words

_CLOCK = lazy(r"(?:at )?(?P<hour>[01]?[0-9]|2[0-3])(?:[:.](?P<minute>[0-5][0-9]))?(?: ?(?P<half>[ap])\.?m)?")
_MORNING, _EVENING = (
    ("凌晨", "清晨", "早上", "早晨", "早", "上午"),
    ("中午", "午后", "下午", "傍晚", "晚上", "晚间", "今晚", "当晚", "晚", "夜里", "深夜"),
)
_NUMBER = "[0-9]{1,2}|[零一二两三四五六七八九十]{1,3}"
_CLOCK_ZH = lazy(
    rf"(?P<part>{'|'.join(_MORNING + _EVENING)})?(?P<hour>{_NUMBER})"
    rf"(?:[点时](?:(?P<minute>{_NUMBER})分?|(?P<half>半)|整|钟)?|:(?P<clock>[0-5][0-9]))"
)
_NAMED = {"noon": "12 pm", "midnight": "12 am", "正午": "12 pm", "午夜": "12 am", "零点": "12 am"}
_ASKS_TIME = lazy(r"\bwhen\b|\btime\b|几点|几时|时间|何时|时候")
_HAN = "零一二三四五六七八九十"
_NOT_AFTER_EVENING = "".join(f"(?<!{part})" for part in _EVENING)
_WORDS = {"a": r"(?:a\.?m\b|in the morning)", "p": r"(?:p\.?m\b|in the (?:afternoon|evening)|at night)"}
_WORDS["[ap]"] = rf"(?:{_WORDS['a']}|{_WORDS['p']})"


def time_pattern(folded: str, question: str) -> str:
    """Return a pattern for a folded alias that is a time of day, or an empty string for any other alias.

    Args:
        folded: The folded alias.
        question: The folded question; '3:10' is a time only if the question asks for one.
    """
    folded = _NAMED.get(folded, folded)
    if found := _CLOCK.fullmatch(folded):
        hour, minute = int(found["hour"]), int(found["minute"] or 0)
        if found["half"]:
            is_time = 1 <= hour <= 12
            hour, half = hour % 12 + 12 * (found["half"] == "p"), found["half"]
        else:
            is_time = ":" in folded and _ASKS_TIME.search(question) is not None
            is_open = 1 <= hour <= 12 and not folded.startswith("0")  # 8:30 can be in the morning or in the evening
            half = "[ap]" if is_open else "ap"[hour >= 12]
        return _pattern(hour, minute, half) if is_time else ""
    found = None if folded.isascii() else _CLOCK_ZH.fullmatch(folded)
    if found is None or not (found["part"] or found["minute"] or _ASKS_TIME.search(question)):
        return ""
    hour = _read(found["hour"])
    minute = 30 if found["half"] else _read(found["minute"] or found["clock"] or "0")
    if found["part"] in _EVENING and hour < 12:
        hour += 12
    elif found["part"] in _MORNING and hour == 12:
        hour = 0
    return _pattern(hour, minute, "ap"[hour >= 12]) if hour < 24 and minute < 60 else ""


def _read(number: str) -> int:
    """Return the value of an hour or a minute in digits or Chinese numerals."""
    if number.isascii():
        return int(number)
    tens, is_ten, ones = number.replace("两", "二").lstrip("零").rpartition("十")
    return (_HAN.index(tens) if tens else 1) * 10 * bool(is_ten) + (_HAN.index(ones) if ones else 0)


def _pattern(hour: int, minute: int, half: str) -> str:
    return rf"(?<![0-9a-z:.])(?:{'|'.join([*_english(hour, minute, half), *_chinese(hour, minute, half)])})"


def _english(hour: int, minute: int, half: str) -> Iterator[str]:
    short, other = hour % 12 or 12, {"a": "p", "p": "a"}.get(half)
    elsewhere = rf"(?! ?{_WORDS[other]})" if other else ""
    yield rf"0?{short}(?:[:.]{minute:02}){'' if minute else '?'} ?{_WORDS[half]}"
    before = _NOT_AFTER_EVENING if hour < 12 else ""
    yield rf"{before}0?{hour}:{minute:02}(?::[0-5][0-9])?(?![0-9]){elsewhere}"
    now, later = in_words(short), in_words((hour + 1) % 12 or 12)
    if not minute:
        yield rf"(?:{now}|{short})(?: o'clock)? {_WORDS[half]}"
        yield rf"(?:{now}|{short}) o'clock{elsewhere}"
        yield from {0: ("midnight",), 12: (r"noon\b",)}.get(hour, ())
    elif minute in (15, 30):
        yield rf"{'quarter' if minute == 15 else 'half'} past {now}\b{elsewhere}"
    elif minute == 45:
        yield rf"quarter to {later}\b{elsewhere}"
    elif minute % 5 == 0:
        past = f"{in_words(minute)} past {now}" if minute < 30 else f"{in_words(60 - minute)} to {later}"
        yield rf"{past}\b{elsewhere}"


def _chinese(hour: int, minute: int, half: str) -> Iterator[str]:
    minutes = r"(?:整|钟|00分?|零分)?(?![0-9半零一二三四五六七八九十])"
    if minute:
        spoken = rf"{minute:02}|{minute}|零?{_in_han(minute)}" if minute < 10 else rf"{minute}|{_in_han(minute)}"
        quarter = {15: "|一刻", 30: "|半", 45: "|三刻"}.get(minute, "")
        minutes = rf"(?:过?(?:{spoken})分?{quarter})(?![0-9])"
    short = hour % 12 or 12
    parts = {"a": _MORNING, "p": _EVENING}.get(half, (*_MORNING, "中午"))
    yield rf"(?:{'|'.join(parts)})(?:(?:0?{short}|{_in_han(short)})[点时]{minutes}|0?{short}:{minute:02}(?![0-9]))"
    before = _NOT_AFTER_EVENING if hour < 12 else ""
    yield rf"{before}(?:0?{hour}|(?<![一二三四五六七八九十]){_in_han(hour)})[点时]{minutes}"


def _in_han(number: int) -> str:
    tens, ones = divmod(number, 10)
    if number == 2:
        return "[二两]"
    if not tens:
        return _HAN[ones]
    return f"{_HAN[tens] if tens > 1 else ''}十{_HAN[ones] if ones else ''}"

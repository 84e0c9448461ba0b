"""Check whether a question reveals its answer in another notation, as a time span or as a well-known number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import combinations, pairwise

from ragbed.builder.rules.facts import BLANK
from ragbed.schema import Lang
from ragbed.scoring.robust.match import FoldedResponse
from ragbed.scoring.robust.normalise import fold

_ERAS = (
    "民国|令和|平成|昭和|大正|明治|洪武|建文|永乐|洪熙|宣德|正统|景泰|天顺|成化|弘治|正德|嘉靖|隆庆|万历|泰昌|天启|崇祯|顺治|康熙|雍正|乾隆|嘉庆|道光|咸丰|同治"
    "|光绪|宣统|贞观|开元|天宝|太平兴国|绍兴|淳熙|至元|至正|[甲乙丙丁戊己庚辛壬癸][子丑寅卯辰巳午未申酉戌亥]年"
)
_ENGLISH_ERAS = (
    r"Reiwa|Heisei|Sh[oō]wa|Taish[oō]|Meiji|Minguo|AH|regnal|reign of|year of (?:the )?(?:reign|Republic)|year of [A-Z]"
)
_ROMAN = r"\b(?=[MDCLXVI]{4,}\b)M{1,2}[DCLXVI]+\b"
# Matches the answer's year if the question also states it in another notation, e.g. in Roman numerals.
_OTHER_YEAR: dict[Lang, re.Pattern[str]] = {
    "zh": re.compile(
        rf"{BLANK}[（(][^）)]*[元一二三四五六七八九十廿卅]年[^）)]*[）)]|[元一二三四五六七八九十廿卅]年[（(](?:即|公元)*{BLANK}"
        rf"|(?:{_ERAS})[^，。；“”]{{0,12}}{BLANK}|{BLANK}[^，。；“”]{{0,6}}(?:{_ERAS})"
    ),
    "en": re.compile(
        rf"{BLANK},? ?\([^)]*(?:{_ENGLISH_ERAS})[^)]*\)|(?:{_ENGLISH_ERAS})[^,;“”]{{0,30}}\({BLANK}"
        rf"|(?:{_ENGLISH_ERAS})[^,;()“”]{{0,20}}, (?:that is, )?{BLANK}|{_ROMAN}"
    ),
}
# Well-known numbers, with the words in a question that give them away.
_KNOWN: dict[int, str] = {
    7: "days? (?:of|in) (?:the|a|every) week|一周[^，。]{0,3}每一?天",
    12: "(?:each|every|per) (?:calendar )?month|months (?:of|in) (?:the|a) year|signs of the zodiac|生肖|每个?月一"
    "|一年[^，。]{0,3}每个?月",
    24: "(?:each|every) hour|hours (?:of|in) (?:the|a) day|节气|一天[^，。]{0,3}每[个一]?小?时",
    26: "alphabet|letters? of|字母",
    28: "lunar mansion|星宿|二十八宿",
    50: "(?:each|every) (?:US |American )?state|states of the (?:union|US)|美国每个州",
    52: "(?:each|every|per) week|weeks (?:of|in) (?:the|a) year|(?:pack|deck) of (?:playing )?cards"
    "|扑克|每周一|一年[^，。]{0,3}每一?[周个]",
    60: "minutes (?:of|in) (?:the|an|every) hour|(?:each|every) minute of|甲子|一小时[^，。]{0,3}每一?分",
    64: "chess ?board|棋盘|卦",
    88: "keys of (?:the|a) piano|钢琴",
    365: "(?:each|every|per) day|days (?:of|in) (?:the|a) year|每一?天|每日",
    366: "leap year|(?:each|every) day|闰年|每一?天",
}
_DURATION: dict[Lang, re.Pattern[str]] = {
    "zh": re.compile(rf"(?:天|日|晚|夜|周|个?星期|个?月|年|分钟|小时)(?:$|[^{BLANK[0]}])"),
    "en": re.compile(r" (?:\w+ )?(?:days?|nights?|weeks?|months?|years?|minutes?|hours?)\b"),
}
_CLOCK = re.compile(r"(?<![\d.:])([01]?\d|2[0-4])[:：.]([0-5]\d)(?![\d%])(?! ?(?:%|million|metres|km|m\b))")
_MAX_DATES = 6  # maximum number of dates or times to compare per sentence
_NO_YEAR = (2023, 2024)  # a common year and a leap year, for dates without a year


def is_revealed(question: str, answer: str, lang: Lang) -> bool:
    """Check whether a question gives away its answer: in another notation, as a time span or as a well-known number.

    Args:
        question: The question, with or without a blank.
        answer: The answer.
        lang: Language of the question.
    """
    is_year = re.fullmatch(r"[12]\d{3}年?|[12]\d{3}年\d.*", answer) is not None
    if is_year and _OTHER_YEAR[lang].search(question):
        return True
    value = next((quantity.value for quantity in FoldedResponse(fold(answer, lang)).quantities), None)
    if value is None:
        return False
    known = _KNOWN.get(int(value)) if value == int(value) else None
    if known and re.search(known, question, re.IGNORECASE):
        return True
    unit = answer if lang == "zh" else question.partition(BLANK)[2][:30] or f" {answer}"
    return _DURATION[lang].search(unit) is not None and value in set(_durations(question, lang))


def _durations(text: str, lang: Lang) -> Iterator[Decimal]:
    """Yield the time spans between the dates in a text, and between its times of day.

    Spans between dates are in days, weeks, months and years; spans between times of day are in minutes and hours.
    """
    found = FoldedResponse(fold(text, lang)).dates
    parts = list(dict.fromkeys((one.year, one.month, one.day) for one in found if one.month and one.day))[:_MAX_DATES]
    for assumed in _NO_YEAR:
        days = [_day(year or assumed, month or 1, day or 1) for year, month, day in parts]
        for one, other in combinations(filter(None, days), 2):
            first, last = sorted((one, other))
            size = (last - first).days
            yield from map(Decimal, (size - 1, size, size + 1))
            yield from (Decimal(round(size / unit)) for unit in (7, 30.44, 365.25))
    times = [int(hour) * 60 + int(minute) for hour, minute in _CLOCK.findall(text)][:_MAX_DATES]
    for start, end in pairwise(times):
        yield Decimal((end - start) % 1440)
        yield Decimal((end - start) % 1440) / 60


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None

"""Decide whether a refusal concerns the requested detail or another one, e.g. 'it does not say when'."""

from __future__ import annotations

import re

from ragbed.scoring.robust.patterns import lazy
from ragbed.scoring.robust.question import Asked

_WH = lazy(r" (?:\w+ )?(when|where|why|how (?:many|much|long|far|old)|who|whom)\b")
_DETAIL = lazy(
    r"\b(?:the |her |his |their |its |an? )?(?:exact |precise |specific |full )?(year|date|day|place|location|reason"
    r"|name|number|figure|time|month|age|price|cost)s?(?: of (?:her |his |its |the )?[\w ]{1,24})?(?: itself)? (?:is"
    r"|are|was|were|remains?)(?: \w+)?? ?$"
)
_WH_ZH = lazy("[^,。;\\n]{0,4}?(哪一?年|哪一?天|什么时候|何时|几时|哪里|在哪|何处|多少|几[个人次]|为什么|原因|谁)")
_DETAIL_ZH = lazy(
    "(?:具体|确切|详细|准确)?(年份|日期|时间|生日|地点|位置|原因|人数|年龄|姓名|名字|价格|数量|人选|出处)(?:并|却|则|都|也|尚|还|是|为|仍)*$"
)
_KINDS_ZH = (
    (
        "哪一年",
        "哪年",
        "哪一天",
        "哪天",
        "什么时候",
        "何时",
        "几时",
        "年份",
        "日期",
        "时间",
        "几月",
        "几号",
        "几点",
        "星期几",
    ),
    ("哪里", "在哪", "何处", "地点", "位置", "哪座", "哪个城市", "何地"),
    ("多少", "几个", "几人", "几次", "人数", "数量", "价格", "多高", "多长", "多大", "多远"),
    ("谁", "哪位", "姓名", "名字", "人选", "什么人", "叫什么", "哪支", "哪家", "哪所", "哪队"),
    ("为什么", "原因", "为何"),
)
# The words with which a question asks for a detail.
_ASKED_BY = {
    **dict.fromkeys(("year", "date", "day", "time", "month"), ("when",)),
    **dict.fromkeys(("place", "location"), ("where", "city", "town", "country")),
    **dict.fromkeys(("number", "figure", "price", "cost", "age"), ("how",)),
    "name": ("who",),
    "reason": ("why",),
}
_ASKS = {
    "when": ("when", "year", "date", "day", "month"),
    "where": ("where", "place", "city", "country", "location", "town"),
    "who": ("who", "which", "person", "name"),
    "whom": ("who", "which"),
    "why": ("why", "reason"),
}


def is_about_detail(text: str, match: re.Match[str], before: str, asked: Asked) -> bool:
    """Return whether a refusal concerns a detail that the question does not ask for, e.g. 'it does not say when'."""
    if asked.pairs:
        return _is_about_detail_zh(text, match, before, asked)
    found = _WH.match(text, match.end())
    if found and not any(word in asked.text for word in _ASKS.get(found[1], (found[1],))):
        return True
    detail = _DETAIL.search(before + match[0][:20].partition("not")[0].partition("un")[0])
    return detail is not None and not any(word in asked.text for word in (detail[1], *_ASKED_BY.get(detail[1], ())))


def _is_about_detail_zh(text: str, match: re.Match[str], before: str, asked: Asked) -> bool:
    found = _WH_ZH.match(text, match.end()) or _DETAIL_ZH.search(before)
    if found is None or found[1] in asked.text:
        return False
    kind = next((kind for kind in _KINDS_ZH if found[1] in kind), ())
    return not any(word in asked.text for word in kind)

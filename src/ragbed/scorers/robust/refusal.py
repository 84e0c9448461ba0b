"""Whether a reply declines to answer, in its own words; English and Chinese, whatever the case's language.

Each rule is a pattern over folded text. What declines must speak of the answer: that no errors are mentioned, or that
information is *not* insufficient, is no refusal.
"""

from __future__ import annotations

import re

from ragbed.scorers.robust.match import Mention

_ABLE = "answer|determine|find|provide|say|tell|confirm|verify|identify|locate|give|know|establish|deduce|infer|pinpoint"
_TOLD = (
    "contain|provide|mention|specify|state|include|give|say|reveal|indicate|address|offer|tell|disclose|name|list|show|"
    "explicitly|directly|specifically"
)
_TOLD_PAST = (
    "mentioned|specified|provided|stated|given|included|available|known|clear|found|disclosed|addressed|indicated|"
    "listed|named|explicitly|directly|specifically|recorded|reported|possible to"
)
_THING = "information|details?|data|evidence|context|mention|answer|knowledge|record|indication|reference|facts?"
_RULES = {
    "refusal.insufficient": re.compile(
        rf"\b(?:insufficient|not enough|inadequate|lack(?:s|ing)?(?: of)?|limited|without)\b(?: \w+){{0,3}}? (?:{_THING})\b"
        rf"|\bno\b(?: \w+){{0,2}}? (?:{_THING})\b|\b(?:{_THING}) (?:is|are) insufficient"
    ),
    "refusal.unable": re.compile(
        rf"(?:\bcan ?not|can't|\bunable to|not able to|not possible to|impossible to|\bcould not|couldn't|\bwould not be able to)"
        rf"(?: \w+){{0,3}}? (?:be )?(?:{_ABLE}|answered|determined|found|confirmed)\b"
    ),
    "refusal.unsaid": re.compile(
        rf"\b(?:(?:do|does|did) ?(?:not|n't)|fails? to|failed to|never)(?: \w+){{0,2}}? (?:{_TOLD})\b"
        rf"|\b(?:do|does|did) ?(?:not|n't) (?:\w+ )?have (?:\w+ ){{0,4}}(?:{_THING}|access)\b"
        rf"|\b(?:is|are|was|were|been|has|have) ?(?:not|n't|never)(?: been)?(?: \w+){{0,1}}? (?:{_TOLD_PAST})\b"
        r"|\b(?:none|neither) of the (?:\w+ )?(?:documents?|passages?|texts?)\b"
    ),
    "refusal.unknown": re.compile(
        r"\b(?:do|does|did) ?(?:not|n't)(?: \w+){0,1}? know\b|\b(?:is|are|remains?) (?:unknown|unclear|uncertain)\b"
        r"|^\W*(?:unknown|unclear|n/a|none|not (?:available|mentioned|specified|provided|stated|given|known|found|applicable|sure))\b"
        r"|\bno idea\b|\bi(?:'m| am) not (?:sure|certain|aware)\b|\bnot aware of\b"
    ),
    "refusal.信息不足": re.compile(
        r"(?:信息|资料|内容|材料|证据|文档)(?:并)?(?:不足|不够|有限|缺失)|(?:没有|缺乏|缺少|无)(?:足够|充分|相关|具体|明确|确切|任何)*的?(?:信息|资料|内容|数据|记录|答案)"
    ),
    "refusal.无法": re.compile(
        r"(?:无法|不能|难以|没法|没办法|无从|不足以)[^。,;\n]{0,14}?(?:回答|确定|得知|判断|知道|提供|给出|得出|确认|获取|找到|作答|查到|查询|了解|推断|获知|答复|核实|验证|解答)"
    ),
    "refusal.未提及": re.compile(
        r"(?:没有|未|并未|没|未能|不)(?:有|曾|被|在|能)?[^。,;\n没未不]{0,12}?(?:提及|提到|提供|说明|包含|给出|涉及|明确|指出|记载|找到|披露|透露|显示|写明|列出|介绍|说到|公布|标明|告知|注明|详细)"
    ),
    "refusal.不知道": re.compile(r"不知道|不清楚|不详|未知|不了解|不得而知|不确定|未可知"),
}
_HINTS_EN = re.compile(r"not|n't|\bno\b|insuffic|unable|imposs|unknown|unclear|uncertain|lack|fail|none|neither|never|n/a|limited|without|inadeq")
_HINTS_ZH = re.compile(r"[无不没未缺难]")
_ABOUT_ERRORS = re.compile(
    r"[^.,;。\n]{0,30}?\b(?:errors?|mistakes?|inaccurac\w+|inconsisten\w+|contradict\w*|incorrect|false)\b|[^,。;\n]{0,10}?(?:错误|矛盾|不一致|不实|有误)"
)
_UNDONE = re.compile(r"(?:\b(?:not|no|never|isn't|without any)|n't|不是|并非|并不是|不存在)(?: \w+)? ?$")
_CONDITION = re.compile(r"(?:\bif\b|\bwhen\b|\bunless\b|如果|若|假如)[^.,。]{0,40}$")


def find_refusals(text: str) -> list[Mention]:
    """Where a folded reply declines; the first place of each rule that holds."""
    found = []
    english, chinese = _HINTS_EN.search(text) is not None, _HINTS_ZH.search(text) is not None
    for rule, pattern in _RULES.items():
        if chinese if rule[-1] >= "\u4e00" else english:
            for match in pattern.finditer(text):
                if _holds(text, match):
                    found.append(Mention(*match.span(), rule))
                    break
    return found


def _holds(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 60) : match.start()]
    return not (_ABOUT_ERRORS.match(text, match.end()) or _UNDONE.search(before) or _CONDITION.search(before))

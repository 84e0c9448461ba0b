"""Whether a reply says that the documents hold errors, in its own words; English and Chinese."""

from __future__ import annotations

import re

from ragbed.scorers.robust.match import Mention

_WRONG = "incorrect|wrong|false|inaccurate|mistaken|erroneous|untrue|misleading|fictional|fabricated|outdated"
_ERRORS = r"errors?|inaccurac(?:y|ies)|mistakes?|inconsistenc(?:y|ies)|contradictions?|misinformation|discrepanc(?:y|ies)|falsehoods?|untruths?"
_SOURCES = r"documents?|passages?|statements?|information|claims?|texts?|sources?|sentences?|articles?|answers?|dates?|this|that|it|which|\[[0-9]\]"
_RULES = {
    "flag.errors": re.compile(rf"\b(?:{_ERRORS})\b|\b(?:false|incorrect|wrong|inaccurate) (?:information|statements?|claims?|facts?|details?|dates?)\b"),
    "flag.wrong": re.compile(
        rf"\b(?:{_SOURCES})\b[^.\n]{{0,80}}?(?:\b(?:is|are|was|were|seems?|appears?)\b|'s)(?: \w+){{0,2}}? "
        rf"(?:(?:{_WRONG})\b|not (?:\w+ )?(?:correct|true|accurate|right|factual)\b)(?! that)|isn't (?:correct|true|accurate|right)\b"
    ),
    "flag.wrongly": re.compile(
        r"\b(?:incorrectly|wrongly|mistakenly|falsely|erroneously) (?:\w+ )?(?:stat|claim|sa(?:y|id)|mention|list|attribut|identif|report|nam|suggest|refer|assert|describ)\w*"
    ),
    "flag.contrary": re.compile(
        r"\bcontrary to (?:the|what|document|this)|\bcontradicts? (?:the|known|historical)"
        r"|(?:而非|而不是|不是|并非|不同于)[^,。\n]{0,4}(?:文档|文中|文章|资料)(?:中|里)?(?:所|的)?(?:说|称|写|述|提|示|给)"
    ),
    "flag.correction": re.compile(
        r"\b(?:documents?|passages?|texts?|sources?|articles?)\b[^.\n]{0,80}?\b(?:but|however|although)\b[^.\n]{0,40}?"
        r"\b(?:actually|in fact|in reality|the (?:correct|right|actual|true))\b|\bnot [^.,;\n]{1,40}? as (?:the|stated|claimed|mentioned|documents?|suggested|it says)"
    ),
    "flag.错误": re.compile(
        r"事实性?错误|错误|有误|失实|不实|谬误|不准确|不正确|不符合?(?:事实|实际|史实|历史)|与(?:事实|实际|史实|历史)[^,。;]{0,6}(?:不符|相悖|矛盾|不一致)|不属实|相互矛盾|误导|不对的?(?=[,。;\n]|地方|$)|不真实"
    ),
    "flag.更正": re.compile(r"(?:文档|资料|文章|文中)[^。\n]{0,40}?(?:但|然而|不过)[^。\n]{0,12}?(?:实际上|事实上|其实|正确|应(?:该|当)?(?:是|为))"),
}
_DENIED = re.compile(
    r"(?:\b(?:no|not|any|without|free of|free from|never|nor|zero)\b|n't\b)(?: \w+){0,4} $"
    r"|(?:没有|无|不存在|未发现|未见|并无|没|未|不含|并非|不是)[^,。;\n]{0,8}$"
)
_SUPPOSED = re.compile(
    r"\b(?:if|may|might|could|whether|avoid|unless|possible|potential)\b[^.\n]{0,60}$|(?:如果|若|假如|可能|是否|或许|倘若|避免)[^。\n]{0,16}$"
)
_HINTS = re.compile(
    rf"{_ERRORS}|{_WRONG}|(?:incorrect|wrong|mistaken|fals|erroneous)ly|not \w*? ?(?:correct|true|accurate|right|factual)|isn't|contra|\bas \w|[错误不失谬实非]"
)


def find_flags(text: str) -> list[Mention]:
    """Where a folded reply blames the documents; the first place of each rule that holds."""
    found = []
    if _HINTS.search(text):
        for rule, pattern in _RULES.items():
            for match in pattern.finditer(text):
                before = text[max(0, match.start() - 70) : match.start()]
                if not (_DENIED.search(before) or _SUPPOSED.search(before)):
                    found.append(Mention(*match.span(), rule))
                    break
    return found

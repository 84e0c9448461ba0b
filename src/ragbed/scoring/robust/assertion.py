"""Decide whether a response asserts an answer or denies it.

Only clear denials are recognised here. Whether a response rejects an answer in other words is decided by the models.
"""

from __future__ import annotations

from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import lazy

_REACH = 240  # maximum number of characters to examine before a mention, so that the running time stays linear
_CLAUSE_END = lazy(
    r"[。!?;\n,:(\"]|\.(?![0-9a-z])| - |\b(?:but|however|while|whereas|although)\b|但|而是|而不是|而非|然而"
)
_DENIED_BEFORE = lazy(
    r"(?:\b(?:not|never|neither|nor|no longer|cannot)\b|n't\b)(?! only\b| just\b| merely\b)"
    r"(?:(?!\b(?:is|was|are|were|that|who|which|because|so|answer)\b)[^.])*$"
    r"|\banything (?:from|between)\b[^.]*$"
    r"|\b(?:rather than|instead of|contrary to|(?<!none )other than|as opposed to|whether|unlike)\b[^.]*$",
    r"(?:不是|并非|并不是|不能[说算]|不在|不应|不可能|不等于|是否|没有(?!哪|谁|什么|任何|别|其他|比)|未"
    r"|不叫|不为|不属于|非(?!常|洲|得))[^。]{0,14}$",
)
# Words that can be either an answer or a negation.
_NO = frozenset({"no", "不", "无", "否"})
_NONE = frozenset({"none", "nothing", "没有"})
_COMPLETE_ANSWER = lazy(r" ?(?:[^\w\s-](?! ?[0-9])|- |\n|$)| (?:they|it|he|she|we|there) ")
_NEGATES = lazy(
    r"(?: [\w']+){0,6}? (?:documents?|passages?|texts?|articles?|sources?|information|known|said|stated|mentioned)\b"
    r"|[^。]{0,12}?(?:信息|文档|资料|文章|材料|提到|提及|说明|依据|足够)"
)


def judge_mention(text: str, mention: Mention) -> str:
    """Return the status of a mention in a folded response: `asserted` or `denied`."""
    if only_negates(text, mention):
        return "denied"
    before = text[max(0, mention.start - _REACH) : mention.start]
    clause = before[max((found.end() for found in _CLAUSE_END.finditer(before)), default=0) :]
    return "denied" if clause and _DENIED_BEFORE.search(clause) else "asserted"


def only_negates(text: str, mention: Mention) -> bool:
    """Return whether 'no' or 'none' merely negates the words that follow, as in 'there is no information'."""
    answer = text[mention.start : mention.end]
    if answer in _NO:
        return _COMPLETE_ANSWER.match(text, mention.end) is None
    return answer in _NONE and _NEGATES.match(text, mention.end) is not None

"""Decide whether a response asserts an answer, denies it, or uses it as a term of a calculation.

Only clear denials are recognised here. Whether a response rejects an answer in other words is decided by the models.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import lazy

# Maximum number of characters to examine on each side of a mention, so that the running time stays linear.
_REACH = 240

_SENTENCE_END = lazy(r"[。!?;\n.]")
# This pattern is checked only after a full stop, because lookbehinds at every position are slow.
_NO_SENTENCE_END = lazy(
    r"(?<=[ (][a-z]\.)(?! (?:the|this|that|these|it|he|she|they|in|however|but|so|according)\b)"
    r"|(?<=\b(?:mr|dr|st|no|vs)\.)|(?<=mrs\.)|(?=[0-9a-z]|[\"')]+ (?:is|are|was|were)\b)"
)
_CLAUSE_END = lazy(r"[,:(\"]| - |\b(?:but|however|while|whereas|although)\b|但|而是|而不是|而非|然而")
_DENIED_BEFORE = lazy(
    r"(?:\b(?:not|never|neither|nor|no longer|cannot)\b|n't\b)(?! only\b| just\b| merely\b)"
    r"(?:(?!\b(?:is|was|are|were|that|who|which|because|so|answer)\b)[^.])*$"
    r"|\banything (?:from|between)\b[^.]*$"
    r"|\b(?:rather than|instead of|contrary to|(?<!none )other than|as opposed to|whether|unlike)\b[^.]*$",
    r"(?:不是|并非|并不是|不能[说算]|不在|不应|不可能|不等于|是否|没有(?!哪|谁|什么|任何|别|其他|比)|未"
    r"|不叫|不为|不属于|非(?!常|洲|得))[^。]{0,14}$",
)
_DENIED_AFTER = lazy(
    r"(?:并不是|不是|并非)"
    r"|[\"')\]]* (?:is|was|are|were)(?: not|n't) (?:the|an?)\b(?! (?:correct|right|actual|true))"
    r"|[\"')\]]* (?:did|does)(?: not|n't)\b"
)
# Words that can be either an answer or a negation.
_NO = frozenset({"no", "不", "无", "否"})
_NONE = frozenset({"none", "nothing", "没有"})
_COMPLETE_ANSWER = lazy(r" ?(?:[^\w\s-](?! ?[0-9])|- |\n|$)| (?:they|it|he|she|we|there) ")
_NEGATES = lazy(
    r"(?: [\w']+){0,6}? (?:documents?|passages?|texts?|articles?|sources?|information|known|said|stated|mentioned)\b"
    r"|[^。]{0,12}?(?:信息|文档|资料|文章|材料|提到|提及|说明|依据|足够)"
)
_TERM = r"[$€£¥]?[0-9][0-9.,]*%?(?: ?[^\W\d_]{1,12}){0,2}"
_TERM_AFTER = lazy(rf"(?: ?[-+*/×÷] ?{_TERM})+ ?=")
_TERM_BEFORE = lazy(rf"{_TERM} ?[-+*/×÷] ?$")


def judge_mention(text: str, mention: Mention) -> str:
    """Return the status of a mention in a folded response: `asserted`, `denied` or `term`.

    A `term` is a number in a calculation, but not its result.
    """
    if only_negates(text, mention) or _is_denied(text, mention):
        return "denied"
    return "term" if is_term(text, mention) else "asserted"


def _is_denied(text: str, mention: Mention) -> bool:
    before, after = sentence_around(text, mention)
    clause = before[max((found.end() for found in _CLAUSE_END.finditer(before)), default=0) :]
    return bool(_DENIED_AFTER.match(after) or (clause and _DENIED_BEFORE.search(clause)))


def only_negates(text: str, mention: Mention) -> bool:
    """Return whether 'no' or 'none' merely negates the words that follow, as in 'there is no information'."""
    answer = text[mention.start : mention.end]
    if answer in _NO:
        return _COMPLETE_ANSWER.match(text, mention.end) is None
    return answer in _NONE and _NEGATES.match(text, mention.end) is not None


def sentence_around(text: str, mention: Mention) -> tuple[str, str]:
    """Return the text before and the text after a mention, within its sentence."""
    starts, stops = sentence_bounds(text)
    start = max(starts[bisect_right(starts, mention.start) - 1], mention.start - _REACH)
    at = bisect_left(stops, mention.end)
    stop = min(stops[at] if at < len(stops) else len(text), mention.end + _REACH)
    return text[start : mention.start], text[mention.end : stop]


@lru_cache(maxsize=4)  # A few entries suffice, because the mentions in a response are examined one after the other.
def sentence_bounds(text: str) -> tuple[list[int], list[int]]:
    """Return the start positions of all sentences, and the end positions of all but the last."""
    starts, stops = [0], []
    for match in _SENTENCE_END.finditer(text):
        stop = match.start()
        if text[stop] != "." or _NO_SENTENCE_END.match(text, stop + 1) is None:
            stops.append(stop)
            starts.append(stop + 1)
    return starts, stops


def is_term(text: str, mention: Mention) -> bool:
    """Return whether a number is a term in a calculation rather than the result, e.g. 70 in '70 - 20 = 50'."""
    if not mention.rule.startswith("number"):
        return False
    if _TERM_AFTER.match(text, mention.end):
        return True
    before, after = text[max(0, mention.start - 40) : mention.start], text[mention.end : mention.end + 2]
    return after.lstrip().startswith("=") and _TERM_BEFORE.search(before) is not None

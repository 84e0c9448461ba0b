"""Decide whether a response asserts an answer, denies it, quotes it as wrong or offers it as an alternative."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache

from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import (
    FALSE_ZH,
    NEGATIONS,
    NOT_RIGHT,
    SOURCES,
    SOURCES_ZH,
    WRONG,
    Terms,
    lazy,
    words,
)

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
    r"|\b(?:rather than|instead of|contrary to|(?<!none )other than|as opposed to|whether|unlike)\b[^.]*$"
    r"|\b(?:ruled? out|anything (?:from|between))\b[^.]*$"
    rf"|\b(?:{NOT_RIGHT}|not the case|unlikely|doubtful|improbable|{WRONG}) that\b[^.]*$",
    r"(?:不是|并非|并不是|不能[说算]|不在|不应|不可能|不等于|是否|没有(?!哪|谁|什么|任何|别|其他|比)|未"
    r"|不叫|不为|不属于|非(?!常|洲|得))[^。]{0,14}$",
)
_LEFT_OUT = lazy(r"(?:and not|, not|\bnot)\s*(?:(?:in|on|by|at|the)\s+)*$", r"(?:而不是|而非)[^,.。]{0,16}$")
_BLAMED_BEFORE = lazy(
    r"\b(?:incorrectly|wrongly|mistakenly|falsely|erroneously|(?:wrong|mistaken|incorrect) about)\b[^.,]{0,80}$",
    r"(?:错误地|误将|误把|误写|误称|误认|误以为)[^。,]{0,20}$",
)
_DENIED_AFTER = lazy(
    r"(?:并不是|不是|并非)"
    r"|[\"')\]]* (?:is|was|are|were)(?: not|n't) (?:the|an?)\b(?! (?:correct|right|actual|true))"
    r"|[\"')\]]* (?:did|does)(?: not|n't)\b"
)
_ASKED_AND_DENIED = lazy(
    r"[^.;\n。?]{0,80}\?[\"')\]]* ?"
    rf"(?:no\b(?! (?:doubt|question|wonder))|nope\b|{WRONG}\b"
    r"|(?:\w+ ){0,2}(?:not\b|\w+n't\b)(?! only\b| just\b| merely\b)"
    r"|不(?:是|对|,|。)|并非|没有|否)"
)
_ONCE_BELIEVED = lazy(
    r"\b(?:formerly|previously|once|originally|initially|at first)\b (?:\w+ )?"
    r"(?:thought|believed|assumed|supposed|presumed|rumou?red|considered)\b[^.]{0,60}$",
    r"[原曾本]经?以为[^。]{0,20}$",
)
# Words that can be either an answer or a negation.
_NO = frozenset({"no", "不", "无", "否"})
_NONE = frozenset({"none", "nothing", "没有"})
_COMPLETE_ANSWER = lazy(r" ?(?:[^\w\s-](?! ?[0-9])|- |\n|$)| (?:they|it|he|she|we|there) ")
_NEGATES = lazy(
    r"(?: [\w']+){0,6}? (?:documents?|passages?|texts?|articles?|sources?|information|known|said|stated|mentioned)\b"
    r"|[^。]{0,12}?(?:信息|文档|资料|文章|材料|提到|提及|说明|依据|足够)"
)
_WRONG_AFTER = lazy(
    r"[.\"')\]]*(?:[^.,;。]{0,40}?|, (?:which|that|this|and this) )\b(?:is|was|are|were|'s|must be|seems?|looks?"
    r"|appears to be)\b (?:\w+ )?"
    rf"(?:{WRONG}|{NOT_RIGHT}|an? (?:\w+ )?(?:error|mistake|typo|misprint|slip|mix-up))"
    r"|[\"')\]]*[^.,;。]{0,30}? (?:cannot|can't|could not|couldn't) (?:possibly )?be (?:right|correct|true|accurate)"
    r"|[\"')\]]*[^.,;。]{0,30}? (?:does|do|did)(?: not|n't) (?:stand up|hold up|hold water|add up|ring true)"
    rf"|[\"')\]]*, [^,.;]{{1,40}}, (?:is|was) (?:{WRONG}|{NOT_RIGHT})"
    rf"|[\"')\]]* ?\((?:{WRONG}|not (?:correct|true))"
    rf"|[\"')\]]*[^,。;]{{0,10}}?(?:是|为|属于)?(?:{FALSE_ZH}|不对|是假的)"
)
_OTHER_SUBJECT = lazy(r"\b(?:documents?|and|but|while|so)\b|文档|但|而")
_SOURCE = lazy(
    rf"\b(?:{SOURCES}|information|statements?|claims?|\[[0-9]\]|they|it|two|one|others?)\b[^.]{{0,60}}?"
    r"\b(?:gives?|gave|names?|puts?|prints?|writes?|wrote|credits?|says?|said|stat(?:es?|ed|ing)|claim(?:s|ed)?|mention(?:s|ed)?|list(?:s|ed)?|suggest(?:s|ed)?|report(?:s|ed)?"
    r"|indicat(?:es?|ed)|contains?)\b|\b(?:according to|based on) (?:the|these|this)\b",
    rf"(?:{SOURCES_ZH}|信息)[^。]{{0,20}}?(?:说|称|写|提到|提及|指出|显示|认为|表示|给出|中|记载|作)"
    r"|(?:根据|按照|依据)[^。]{0,6}(?:文档|文章|资料|信息)",
)
_CONTRADICTED = lazy(
    rf"\b(?:{WRONG}|{NOT_RIGHT}|(?:factual )?errors?|mistakes?|inconsistent with|contradicts?)\b"
    r"|\b(?:but|however),? (?:actually|in fact|in reality|the (?:actual|correct|right|true))\b",
    rf"{FALSE_ZH}|矛盾|不对|但实际|但事实|实际上|事实上|其实|正确的?(?:说法|答案)",
)
_CORRECTING = lazy(
    r"\b(?:correct|right|true|actual|real)\b[^.]{0,60}$"
    r"|\b(?:actually|in fact|in reality|should (?:be|have been)|(?:(?:^|[.,;] )it was))\b[^.]{0,50}$",
    r"(?:正确|真正|真实|实际|事实上|其实|应(?:该|当)?(?:是|为)|而是|[写弄搞说记]错了)[^。]{0,25}$",
)
_OR_BEFORE = lazy(r"\b(?:either\b[^.]{0,60}|or\b (?:(?:in|on|by|at|the) ){0,2})$", r"(?:或者?|还是)(?:是|在|由)?$")
_OR_AFTER = lazy(
    r"[\"')]*[,. ]*or (?:was|is) (?:that|it)\b|[\"')]*,? or (?!more|so\b|about|approximately|less|later|earlier|over"
    r"|nearly|even|otherwise)"
    r"|[\"')]*(?:或者|或(?!许)|还是)|, [^,.;]{1,24},? or (?!more|so\b|less|later|earlier)"
    r"|[\"')》]*、[^,。;]{1,30}(?:或|和|与|等)[^,。;]{1,12}"
)
_TERM = r"[$€£¥]?[0-9][0-9.,]*%?(?: ?[^\W\d_]{1,12}){0,2}"
_TERM_AFTER = lazy(rf"(?: ?[-+*/×÷] ?{_TERM})+ ?=")
_TERM_BEFORE = lazy(rf"{_TERM} ?[-+*/×÷] ?$")
_MIGHT_NOT = lazy(
    r"[\"')]*[,.;]? (?:but |or |and )?(?:it |that |he |she |they )?(?:might|may|could)(?: just as well"
    r"| equally)? not\b|[\"')]*, or (?:maybe )?not\b|[^.\n]{0,6}\.? i wouldn't (?:put money|bet)"
)
# Patterns that match an expression of doubt or a refutation after an answer.
_OR_WAS = lazy(
    r"[\"')]*[,. ]*or (?:was|is|were) (?:that|it|he|she|they)\b|[\"')》]*[,.。?]+(?:还是|抑或|要么)",
)
_REFUTED = lazy(
    r"[^.;!?\n]{0,60}[.;!?]+[\"')]* (?:but |however,? |yet )?(?:(?:that|this|it)(?: is|'s| was)(?: simply| just)? "
    r"(?:not (?:so|the case|how it was)|an? (?:\w+ )?(?:myth|misconception|legend|misunderstanding))|not so\b)"
    r"|[^。;!?\n]{0,30}[。;!?,](?:但|可|然而|不过)?(?:事实|实际|其实|实情|真相)?上?(?:却|则)?(?:并非如此|不然|并不是这样"
    r"|不是这样|不是这么回事|不是那么回事)"
)
_MAYBE = lazy("可能|也许|或许|maybe|perhaps|possibly")

# A response that contains none of these words or characters cannot match any rule in this module.
_SIGNALS_EN = NEGATIONS | words(
    "or either rather instead contrary other opposed whether unlike but however maybe perhaps possibly incorrect "
    "wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated incorrectly wrongly "
    "mistakenly falsely erroneously error errors mistake mistakes contradict contradicts inconsistent correct "
    "right true actual actually real reality fact say says said state states stated stating claim claims claimed "
    "mention mentions mentioned list lists listed suggest suggests suggested report reports reported indicate "
    "indicates indicated contain contains according based nothing nope formerly previously once originally "
    "initially first myth misconception legend misunderstanding unlikely doubtful improbable rule ruled anything"
)
_SIGNALS = _SIGNALS_EN | frozenset("不非未没或误错否还矛实可也无以=")
# A pattern is skipped if the response contains none of the pattern's words or characters.
_NOT = NEGATIONS | words("n't mustn't needn't mightn't oughtn't shan't daren't 不 非 未 没 否")
_FALSE = words(
    "incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated bogus spurious "
    "fictitious fake flawed implausible dubious unreliable exaggerated 错 误 失 虚 假"
)
_BLAMES = words("incorrectly wrongly mistakenly falsely erroneously wrong mistaken incorrect 误")
_DENIES = (
    _NOT
    | _FALSE
    | words(
        "unlikely doubtful improbable rule ruled anything myth misconception legend misunderstanding rather instead "
        "contrary other opposed whether unlike formerly "
        "previously "
        "once originally initially first 以 ?"
    )
)
_CALLS_WRONG = _NOT | _FALSE | words("error mistake typo misprint slip mix could")
_OFFERS = words("or either might may could wouldn't maybe perhaps possibly 可 也 或 还 、")
_CONTRADICTS = (
    _NOT | _FALSE | words("error errors mistake mistakes inconsistent contradict contradicts but however 矛 实 其 正")
)


def is_plain(terms: Terms) -> bool:
    """Return whether a response has no negation, hedging or attribution, in which case all mentions are assertions."""
    return terms.isdisjoint(_SIGNALS)


def judge_mention(text: str, terms: Terms, mention: Mention, same: Sequence[Mention], rivals: Sequence[Mention]) -> str:
    """Return the status of a mention: `asserted`, `denied`, `wrong`, `quoted`, `alternative` or `term`.

    A `quoted` mention is attributed to the documents and then contradicted or replaced. A `term` is a number in a
    calculation, but not its result.

    Args:
        text: The folded response.
        terms: Its words and characters.
        mention: A mention of an answer.
        same: All mentions of that answer.
        rivals: Mentions of answers that exclude it.
    """
    before, after = sentence_around(text, mention)
    if before and not terms.isdisjoint(_BLAMES) and _BLAMED_BEFORE.search(before):
        return "wrong"
    if only_negates(text, mention) or (not terms.isdisjoint(_DENIES) and _is_denied(text, mention, before, after)):
        return "denied"
    wrong = None if terms.isdisjoint(_CALLS_WRONG) else _WRONG_AFTER.match(after)
    if wrong and (wrong[0].startswith(", ") or not _OTHER_SUBJECT.search(wrong[0])):
        return "wrong"
    if not terms.isdisjoint(_OFFERS) and _is_alternative(text, before, after, mention, same):
        return "alternative"
    if before and _is_quoted(text, terms, mention, rivals, before):
        return "quoted"
    return "term" if is_term(text, mention) else "asserted"


def _is_quoted(text: str, terms: Terms, mention: Mention, rivals: Sequence[Mention], before: str) -> bool:
    """Return whether a response attributes a mention to the documents, then contradicts it or gives another answer."""
    is_replaced = any(mention.end < rival.start < mention.end + _REACH for rival in rivals)
    if not is_replaced and terms.isdisjoint(_CONTRADICTS):
        return False
    return _is_attributed(before) and (is_replaced or is_contradicted(text, mention))


def _is_attributed(before: str) -> bool:
    return _SOURCE.search(before) is not None and _CORRECTING.search(before) is None


def _is_denied(text: str, mention: Mention, before: str, after: str) -> bool:
    if _ASKED_AND_DENIED.match(text, mention.end) or _REFUTED.match(text, mention.end):
        return True
    if not before:
        return _DENIED_AFTER.match(after) is not None
    clause = before[_last_end(before, _CLAUSE_END) :]
    denial = _DENIED_BEFORE.search(clause) or _LEFT_OUT.search(before) or _DENIED_AFTER.match(after)
    return bool(denial or _ONCE_BELIEVED.search(clause))


def only_negates(text: str, mention: Mention) -> bool:
    """Return whether 'no' or 'none' merely negates the words that follow, as in 'there is no information'."""
    answer = text[mention.start : mention.end]
    if answer in _NO:
        return _COMPLETE_ANSWER.match(text, mention.end) is None
    return answer in _NONE and _NEGATES.match(text, mention.end) is not None


def is_correcting(text: str, mention: Mention) -> bool:
    """Return whether a response presents a mention as the correct answer in place of a wrong one."""
    return _CORRECTING.search(sentence_around(text, mention)[0]) is not None


def sentence_around(text: str, mention: Mention) -> tuple[str, str]:
    """Return the text before and the text after a mention, within its sentence."""
    starts, stops = sentence_bounds(text)
    start = max(starts[bisect_right(starts, mention.start) - 1], mention.start - _REACH)
    at = bisect_left(stops, mention.end)
    stop = min(stops[at] if at < len(stops) else len(text), mention.end + _REACH)
    return text[start : mention.start], text[mention.end : stop]


def is_contradicted(text: str, mention: Mention) -> bool:
    """Return whether the text after a quoted answer says that the answer is wrong."""
    return _CONTRADICTED.search(text[mention.end : mention.end + _REACH]) is not None


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


def _last_end(text: str, pattern: re.Pattern[str]) -> int:
    end = 0
    for match in pattern.finditer(text):
        end = match.end()
    return end


def is_term(text: str, mention: Mention) -> bool:
    """Return whether a number is a term in a calculation rather than the result, e.g. 70 in '70 - 20 = 50'."""
    if not mention.rule.startswith("number"):
        return False
    if _TERM_AFTER.match(text, mention.end):
        return True
    before, after = text[max(0, mention.start - 40) : mention.start], text[mention.end : mention.end + 2]
    return after.lstrip().startswith("=") and _TERM_BEFORE.search(before) is not None


def _is_alternative(text: str, before: str, after: str, mention: Mention, same: Sequence[Mention]) -> bool:
    if _MIGHT_NOT.match(after) or _OR_WAS.match(text, mention.end):
        return True
    following = _OR_AFTER.match(after)
    if following:  # 'ESA, or European Space Agency' names one agency twice
        end = mention.end + following.end()
        return not any(end <= other.start <= end + 4 for other in same)
    if len(_MAYBE.findall(before)) + len(_MAYBE.findall(after)) > 1:  # 'maybe A, maybe B'
        return True
    is_last = _OR_BEFORE.search(before) is not None
    return is_last and not any(0 < mention.start - other.end <= 12 for other in same)

"""Detect statements that the documents contain errors, in any wording, in English and Chinese."""

from __future__ import annotations

import re

from ragbed.scoring.robust.match import PhraseRule, PhraseRules
from ragbed.scoring.robust.patterns import NOT_RIGHT, WRONG, any_of, lazy, words

_ERRORS = any_of(
    "errors? inaccurac(?:y|ies) mistakes? inconsistenc(?:y|ies) contradictions? misinformation discrepanc(?:y|ies) "
    "falsehoods? untruths?"
)
_CLAIMS = any_of("information statements? claims? facts? details? dates?")
_BLAMED = any_of(
    r"documents? passages? statements? information claims? texts? sources? sentences? articles? answers? dates? this "
    r"that it which \[[0-9]\]"
)
_SOURCES = any_of("documents? passages? texts? sources? articles?")
_WRONGLY = any_of("incorrectly wrongly mistakenly falsely erroneously")
_SAYING = any_of("stat claim sa(?:y|id) mention list attribut identif report nam suggest refer assert describ")
_TRULY = any_of("actually in_fact in_reality the_(?:correct|right|actual|true)")
_FACTS_ZH = any_of("事实 实际 史实 历史")
_SOURCES_ZH = any_of("文档 文中 文章 资料")
_WRONG_WORDS = words(
    "incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated outdated"
)
_RIGHT_WORDS = words("correct true accurate right factual actually fact reality actual")
# Each rule with the words and characters of which the text must have one, and its pattern.
_RULES: tuple[PhraseRule, ...] = (
    (
        "flag.errors",
        _WRONG_WORDS
        | words(
            "error errors inaccuracy inaccuracies mistake mistakes inconsistency inconsistencies contradiction "
            "contradictions misinformation discrepancy discrepancies falsehood falsehoods untruth untruths"
        ),
        lazy(rf"\b{_ERRORS}\b|\b{WRONG} {_CLAIMS}\b"),
    ),
    (
        "flag.wrong",
        _WRONG_WORDS | _RIGHT_WORDS,
        lazy(
            rf"\b{_BLAMED}\b[^.\n]{{0,80}}?(?:\b(?:is|are|was|were|seems?|appears?)\b|'s)(?: \w+){{0,2}}? "
            rf"(?:(?:{WRONG}|outdated)\b|{NOT_RIGHT}\b)(?! that)|isn't (?:correct|true|accurate|right)\b"
        ),
    ),
    (
        "flag.wrongly",
        words("incorrectly wrongly mistakenly falsely erroneously"),
        lazy(rf"\b{_WRONGLY} (?:\w+ )?{_SAYING}\w*"),
    ),
    (
        "flag.contrary",
        words("contrary contradict contradicts") | frozenset("非不"),
        lazy(
            r"\bcontrary to (?:the|what|document|this)|\bcontradicts? (?:the|known|historical)"
            rf"|(?:而非|而不是|不是|并非|不同于)[^,。\n]{{0,4}}{_SOURCES_ZH}[中里]?[所的]?[说称写述提示给]"
        ),
    ),
    (
        "flag.correction",
        _RIGHT_WORDS
        | words("says stated claimed mentioned suggested document documents passage passages text texts source sources")
        | words("article articles")
        | frozenset("但然过"),
        lazy(
            rf"\b{_SOURCES}\b[^.\n]{{0,80}}?\b(?:but|however|although)\b[^.\n]{{0,40}}?\b{_TRULY}\b"
            rf"|\bnot [^.,;\n]{{1,40}}? as (?:it |the |this )?(?:says|{_SOURCES}|stated|claimed|mentioned|suggested)\b"
            rf"|{_SOURCES_ZH}[^。\n]{{0,40}}?(?:但|然而|不过)[^。\n]{{0,12}}?(?:实际上|事实上|其实|正确|应该?当?[是为])"
        ),
    ),
    (
        "flag.错误",
        frozenset("错误失实谬确属真矛对符悖"),
        lazy(
            r"错误|有误|失实|不实|谬误|不准确|不正确|不属实|不真实|相互矛盾|误导|不对的?(?=[,。;\n]|地方|$)"
            rf"|不符合?{_FACTS_ZH}|与{_FACTS_ZH}[^,。;]{{0,6}}(?:不符|相悖|矛盾|不一致)"
        ),
    ),
)

_DENIED = lazy(
    r"(?:\b(?:no|not|any|without|free of|free from|never|nor|zero)\b|n't\b)(?: \w+){0,4} $"
    r"|(?:没有|无|不存在|未发现|未见|并无|没|未|不含|并非|不是)[^,。;\n]{0,8}$"
)
_CONDITIONAL = lazy(
    r"\b(?:if|may|might|could|whether|avoid|unless|possible|potential)\b[^.\n]{0,60}$"
    r"|(?:如果|若|假如|可能|是否|或许|倘若|避免)[^。\n]{0,16}$"
)


def _is_valid(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 70) : match.start()]
    return not (_DENIED.search(before) or _CONDITIONAL.search(before))


FLAGS = PhraseRules(_RULES, _is_valid)

"""Detect statements that the documents contain errors or contradict each other, in any wording.

A flag combines two semantic fields: a text or one of its claims, and an error, with the right polarity. An error that
the question itself is about, that someone else made, or that the response only quotes is not a flag.
"""

from __future__ import annotations

import re

from ragbed.scoring.robust.assertion import sentence_around
from ragbed.scoring.robust.flag_en import CONTRADICTIONS, RULES_EN
from ragbed.scoring.robust.flag_zh import RULES_ZH, is_of_others_zh, is_reported_zh
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import CLAIMS, SAYING, SOURCES, is_quoted, lazy
from ragbed.scoring.robust.question import STEM, Asked

RULES = RULES_EN + RULES_ZH

_DENIED = lazy(
    r"(?:\b(?:no|not|any|without|free of|free from|never|nor|zero|nothing|nobody|none|neither|hardly any)\b"
    r"|n't\b)(?: [\w']+){0,4} $",
    r"(?:没有|无|不存在|未发现|未见|并无|没|未|不含|并非|不是|毫无)[^,。;\n]{0,8}$",
)
_CONDITIONAL = lazy(
    r"\b(?:if|may|might|could|whether|avoid|unless|possible|potential|in case)\b[^.\n]{0,60}$",
    r"(?:如果|若|假如|是否|倘若|避免|除非|要是|别|不要|切勿|以免)[^。\n]{0,16}$|可能(?!是?[写印记弄搞说打有])[^。\n]{0,10}$",
)
_SOURCE = lazy(rf"\b(?:{SOURCES}|{CLAIMS}|context|provided|given|above)\b|\[[0-9]\]")
_STRICT = lazy(
    r"\b(?:provided|given|retrieved|supplied|these|above|your|the|this|both|two|all|second|first"
    r"|third)(?: \w+)? (?:documents?"
    r"|passages?|texts?|sources?|context|excerpts?|snippets?)\b|\b(?:document|passage|source) \[?[0-9]|\[[0-9]\]"
)
_REPORTED = lazy(r"\b(?:according to|as per|based on|per|from|in)\b[^.;,\n]{0,20}$")
_SAYS = lazy(rf"\b(?:{SAYING})\w*\b(?![^.;\n]*(?:, which|\bbut\b|, this|, that|however))")
_BY_OTHERS = lazy(
    r"\b(?:made|making|makes|commit(?:s|ted)?|found|finds?|discovered|corrected|admit(?:s|ted)?|unforced|spelling|fielding|apologi[sz]ed"
    r"|retracted|acknowledged|critics|people|fans|bloggers|court|judges?|jury|police|investigators?|auditors?|inquiry|tribunal|ruled"
    r"|concluded|audit|committee|commission|opponents?|rivals?|company|lawyers?)\b"
)
_USER = lazy(
    r"\b(?:you (?:said|wrote|mention(?:ed)?|gave|state|assume)|your (?:question|premise|assumption)"
    r"|the question (?:says|states|assumes|claims|contains|gives|is|has))\b"
    r"|[你您](?:说|讲)的|题目|问题中|题干"
)


def is_flag(text: str, match: re.Match[str], asked: Asked) -> bool:
    """Return whether a match is the response's own statement that the documents are wrong."""
    before = text[max(0, match.start() - 70) : match.start()]
    if _DENIED.search(before) or _CONDITIONAL.search(before) or is_quoted(text, match.start()):
        return False
    return _is_own(text, Mention(*match.span(), ""), asked)


def blames_others(text: str, mention: Mention, asked: Asked) -> bool:
    """Return whether a sentence reports that others, e.g. a court, call a mention wrong."""
    sentence = "".join(sentence_around(text, mention))
    if asked.pairs:
        return is_reported_zh(sentence)
    return _BY_OTHERS.search(sentence) is not None and _SOURCE.search(sentence) is None


def _is_own(text: str, flag: Mention, asked: Asked) -> bool:
    """Return whether the response itself criticises the documents."""
    is_strict = asked.about_errors or asked.about_documents
    before, after = sentence_around(text, flag)
    matched = text[flag.start : flag.end]
    sentence = before + matched + after
    if _USER.search(before + matched):
        return False
    if text[flag.start] >= "\u3400" or asked.pairs:
        return not is_of_others_zh(before, matched, after, asked, is_strict=is_strict)
    words_matched = matched.split()
    error = words_matched[0 if words_matched[0] in CONTRADICTIONS else -1]
    if len(error) > 3 and error[:STEM] in asked.stems:
        return False
    if is_strict:
        return _is_strict_flag(before + matched)
    is_of_others = _BY_OTHERS.search(sentence) is not None
    return not is_of_others or _SOURCE.search(sentence) is not None


def _is_strict_flag(sentence: str) -> bool:
    """Return whether a sentence itself says that one of the given documents is wrong, rather than reporting it."""
    given = _STRICT.search(sentence)
    if given is None or _REPORTED.search(sentence[: given.start()]):
        return False
    return _SAYS.search(sentence[given.end() :]) is None

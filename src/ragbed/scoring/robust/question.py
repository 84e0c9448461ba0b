"""Determine what a question asks for: its relation, rank, year and kind of answer."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.cues import chinese, english
from ragbed.scoring.robust.gold import asked_unit
from ragbed.scoring.robust.normalise import fold

STEM = 5  # number of letters that related words share, e.g. nominated and nominees
WORD = re.compile(r"'s\b|[a-z0-9]+(?:['.,-][a-z0-9]+)*|[^\w\s]|\n")

_YEAR = re.compile(r"(?<![0-9])(?:1[5-9]|20)[0-9]{2}(?![0-9])")
_TYPE_NOUN = re.compile(r"\b(?:which|what) ([a-z]+)")
_WHO = re.compile(r"\bwho(?:m|se)?\b|谁|哪位|哪一位|什么人")
_WHERE = re.compile(
    r"\bwhere\b|\b(?:which|what) (?:city|town|country|place|village|venue)\b|哪里|哪座|何处|何地|地点"
    r"|哪个国家|哪个城市|首都"
)
_ERRORS = re.compile(
    r"\b(?:errors?|mistakes?|wrong|false|incorrect|inaccura|falsehood|mislead|fabricat|falsif|fake|hoax|untrue|contradict"
    r"|misinformation)"
    r"|\b(?:disprov|refut|debunk|overturn|recall|fault|flaw|outdated|defect|conflict|inconsisten|discrepan|disput|audit|forg(?:ed|er)|fraud|plagiar|misprint|typo|correction|retract|apologi)|推翻|辟谣|有问题|澄清|漏洞|缺陷|召回|假说|承认"
    r"|错误|失误|谣言|虚假|不实|造假|有误|出错|误报|更正|矛盾|不符|质疑|伪造|审计|勘误|冲突|争议|道歉|抄袭|骗局|揭穿|对吗|误"
)
_DOCUMENTS = re.compile(
    r"\b(?:documents?|articles?|reports?|papers?|texts?|files?|records?|statements?|book|newspaper|sources?|evidence)\b"
    r"|文件|文档|文章|报道|报告|论文|记录|档案|资料|声明|报纸|证据|信息"
)
_LIMIT = re.compile(
    r"\b(?:maximum|minimum|limit|cap|at least|at most|up to|how high a|allow(?:s|ed)?|permit\w*|require[ds]?|must)\b"
    r"|最高|最低|最多|最少|至少|至多|上限|下限|不超过|罚款|门槛"
)
_NAMES = re.compile(r"(?<=\w )[A-Z]\w*(?: [A-Z]\w*)+|《[^》]*》")  # a title such as 'Paper Tigers' is not a paper
_FORMER = re.compile(r"\bused to\b|\bbefore\b|\bformer|\bpreviously\b")


class Asked(NamedTuple):
    """What a question asks for.

    Attributes:
        stems: The beginnings of its words; a cue that shares one does not count.
        weights: How clearly a word expresses the asked relation: 2 for the words of its family, 1 for other words.
        is_reversed: Whether it asks for the other side of a contest or for an earlier state.
        rank: The asked rank, from 0.
        years: The years that it names.
        unit: The unit of the counted noun, or nothing.
        pairs: The pairs of neighbouring characters of a Chinese question.
        repeated: What an answer in a full sentence repeats: these pairs, or the words of an English question.
        about_errors: Whether it is about errors, so that an error in the answer does not criticise the documents.
        about_documents: Whether it is about texts.
        asks_limit: Whether it asks for a limit, so that 'up to 500' is an answer.
        family: For Chinese, a pattern for one of the words that express the asked relation.
    """

    text: str
    stems: frozenset[str]
    weights: dict[str, int]
    is_reversed: bool
    rank: int
    years: frozenset[str]
    asks_who: bool
    unit: str
    pairs: frozenset[str]
    repeated: frozenset[str]
    asks_where: bool
    about_errors: bool
    about_documents: bool
    asks_limit: bool
    family: re.Pattern[str] | None


@lru_cache(maxsize=16_384)
def read_question(question: str, lang: Lang) -> Asked:
    """Return what a question asks for."""
    text = fold(question, lang)
    weights = _chinese_weights(text) if lang == "zh" else _english_weights(question, text)
    words = frozenset(WORD.findall(text)) if lang == "en" else frozenset[str]()
    pairs = frozenset(text[at : at + 2] for at in range(len(text) - 1)) if lang == "zh" else frozenset[str]()
    return Asked(
        text=text,
        stems=frozenset(word[:STEM] for word in words if len(word) > 3 and word not in english().skipped)
        if lang == "en"
        else frozenset(),
        weights=weights,
        is_reversed=not english().reversed.isdisjoint(words)
        if lang == "en"
        else any(w in text for w in chinese().reversed),
        rank=_rank(text, words, lang),
        years=frozenset(_YEAR.findall(text)),
        asks_who=_WHO.search(text) is not None,
        unit=asked_unit(text),
        pairs=pairs,
        repeated=pairs or frozenset(word for word in words - english().skipped if word[0].isalnum()),
        asks_where=_WHERE.search(text) is not None,
        about_errors=_ERRORS.search(text) is not None,
        about_documents=_DOCUMENTS.search(fold(_NAMES.sub(" ", question), lang)) is not None,
        asks_limit=_LIMIT.search(text) is not None,
        family=re.compile("|".join(sorted(weights, key=len, reverse=True))) if weights and lang == "zh" else None,
    )


def _english_weights(question: str, text: str) -> dict[str, int]:
    cues = english()
    nouns = set(_TYPE_NOUN.findall(text))
    names = {word.lower() for word in re.findall(r"(?<=[\w,] )[A-Z]\w+", question)}
    weights: dict[str, int] = {}
    for word in WORD.findall(text):
        if word in cues.skipped or word in nouns or not word[0].isalpha() or len(word) < 3:
            continue
        if word in cues.families:
            weights |= dict.fromkeys(cues.families[word], 2)
        elif word not in names:
            weights.setdefault(word, 1)
            weights.setdefault(f"~{word[:STEM]}", 1)
    return weights


def _chinese_weights(text: str) -> dict[str, int]:
    weights: dict[str, int] = {}
    for family in chinese().families:
        if any(word in text for word in family if len(word) > 1) or any(word in text for word in family[:1]):
            weights |= dict.fromkeys(family, 2)
    return weights


def _rank(text: str, words: frozenset[str], lang: Lang) -> int:
    if lang == "zh":
        return next((rank for word, rank in chinese().ranks.items() if rank and word in text), 0)
    return next((rank for word, rank in english().ranks.items() if rank and word in words), 0)

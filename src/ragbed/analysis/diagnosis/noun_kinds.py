"""Kinds of one thing: a word before a noun that makes it another than the question's. Weak evidence, for E3.

'US Open' is not the Qatar Open, 'automotive revenue' not revenue, 女单 not 男单, 汽车业务营收 not 营收.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ragbed.analysis.diagnosis.context import AnswerLocation, TrialContext
from ragbed.analysis.diagnosis.question_terms import QuestionTerms, stem
from ragbed.analysis.diagnosis.stop_words import FRAME_ZH, STOP

_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_NEUTRAL_EN = """
    maximum minimum preliminary provisional
    total overall whole entire main actual final own same such its new current exact official reported following
    next last previous other another second-hand annual company group team country record decisive took take takes
    came went made gave won held set put got
"""
_NEUTRAL = frozenset(_NEUTRAL_EN.split())
"""Words before a noun that do not make it another thing."""
_NEUTRAL_ZH = re.compile(
    rf"(?:{FRAME_ZH}|实现|列出|列明|给出|交出|取得|获得|公布|录得|超过|突破|报告|季度|总|全年|年度|公司|整体|最终|期内|[0-9年月日])+$"
)
_LONGEST_KIND_ZH = 4
_CONTRASTS_ZH = "男女 东西南北 上下 春夏秋冬 内外 前后 正副 大小 新旧 单双 城郊 初终 青成少老"
"""Characters that tell one of a kind from another."""
_ASKED_FOR_ZH = re.compile(r"(.?)([\u4e00-\u9fff]{2})(?:分别)?(?:是|为|有|达到?)?(?:多少|几|什么)")


def find_other_kind(look: TrialContext, place: AnswerLocation) -> tuple[str, str] | None:
    """What the question asks about, and the other kind that a sentence tells of."""
    if look.case.lang == "en":
        return _other_kind_en(look, place)
    answer = place.page.folded[place.mention.start : place.mention.end]
    told = place.sentence.folded.replace(answer, " " * len(answer))
    usual = [one.sentence.folded for slot in look.gold.slots for one in look.places(slot)]
    return _contrast_zh(look.asked.folded, told) or _inserted_zh(look.asked.folded, told, usual)


def _other_kind_en(look: TrialContext, place: AnswerLocation) -> tuple[str, str] | None:
    words = [word.lower() for word in _WORD.findall(look.case.question)]
    stems = [stem(word) for word in words]
    start, end = place.page.place(place.mention)
    answer = {word.lower() for word in _WORD.findall(place.page.text[start:end])}
    usual = {pair for slot in look.gold.slots for one in look.places(slot) for pair in _pairs(one.sentence.text)}
    for before, noun in _pairs(place.sentence.text):
        if noun not in stems or before in answer or not _is_kind(before, look.asked) or (before, noun) in usual:
            continue
        heads = [at for at, word in enumerate(stems) if word == noun and words[at] not in answer]
        of_question = [words[at - 1] for at in heads if at and words[at - 1] not in STOP]
        if heads:
            word = words[heads[0]]
            return f"{of_question[0]} {word}" if of_question else word, f"{before} {word}"
    return None


def _pairs(sentence: str) -> Iterator[tuple[str, str]]:
    """Words that may qualify the next one, with its stem; a name is qualified by names only: 'movie Titanic' is not."""
    for before, noun in pairwise(_WORD.findall(sentence)):
        if noun.lower() not in STOP and (before[0].isupper() or noun[0].islower()):
            yield before.lower(), stem(noun.lower())


def _is_kind(word: str, asked: QuestionTerms) -> bool:
    """Whether a word may tell one kind of thing from another: no grammar, no verb, nothing the question has too."""
    if word in STOP or word in _NEUTRAL or stem(word) in asked.content or word.removesuffix("'s") in asked.content:
        return False
    return not word.endswith(("ed", "ly", "ing", "s")) or word.endswith(("men's", "ss", "us"))


def _contrast_zh(question: str, told: str) -> tuple[str, str] | None:
    for kinds in _CONTRASTS_ZH.split():
        for at, mine in enumerate(question[:-2]):
            noun = question[at + 1 : at + 3]
            if mine in kinds and f"{mine}{noun}" not in told:
                for other in kinds.replace(mine, ""):
                    if f"{other}{noun}" in told:
                        return f"{mine}{noun}", f"{other}{noun}"
    return None


def _inserted_zh(question: str, told: str, usual: Sequence[str]) -> tuple[str, str] | None:
    """A kind before the noun that is asked for, which in the question has none."""
    if (asked := _ASKED_FOR_ZH.search(question)) is None:
        return None
    before, noun = asked.groups()
    for match in re.finditer(rf"([\u4e00-\u9fff]{{2,{_LONGEST_KIND_ZH}}})(?={noun})", told):
        kind = _NEUTRAL_ZH.sub("", match[1])
        is_same_word = match[1][-1] == before  # 火车票 in both
        if len(kind) > 1 and not (is_same_word or any(kind in text for text in usual) or _shares(kind, question)):
            return noun, f"{match[1]}{noun}"
    return None


def _shares(kind: str, question: str) -> bool:
    return any(kind[at : at + 2] in question for at in range(len(kind) - 1))

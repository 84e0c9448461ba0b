"""E3, concept confusion: the sentence that the wrong answer rests on tells of a look-alike of what was asked about.

It is another year, ordinal, name or kind: 2018 for 2022, automotive revenue for revenue. A word before a noun is weak
evidence: it counts only where the right answer was not out of reach (E1), as in the paper's first example, where the US
Open stands in for the Qatar Open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragbed.diagnose.asked import YEAR, Asked, ordinals_in, stem
from ragbed.diagnose.distance import PRONOUN, find_distance
from ragbed.diagnose.look import Look, Place
from ragbed.diagnose.record import Evidence
from ragbed.diagnose.words import FRAME_ZH, STOP

_NAME = re.compile(r"(?<=[a-z0-9,] )[A-Z][a-z]\w*")
"""A word with a capital inside a sentence; in Chinese, names cannot be told so."""
_WORD = re.compile(r"[a-z][a-z'-]*")
_NEUTRAL_EN = """
    total overall whole entire main actual final own same such its new current exact official reported following
    next last previous other another second-hand annual company group team country record decisive took take takes
    came went made gave won held set put got
"""
_NEUTRAL = frozenset(_NEUTRAL_EN.split())
"""Words before a noun that do not make it another thing."""
_NEUTRAL_ZH = re.compile(
    rf"(?:{FRAME_ZH}|实现|取得|获得|公布|录得|超过|突破|报告|季度|总|全年|年度|公司|整体|最终|期内|[0-9年月日])+$"
)
_LONGEST_KIND_ZH = 4
_CONTRASTS_ZH = (
    "男女",
    "东西南北",
    "上下",
    "春夏秋冬",
    "内外",
    "前后",
    "正副",
    "大小",
    "新旧",
    "单双",
    "城郊",
    "初终",
    "青成少老",
)
"""Characters that tell one of a kind from another."""


class Difference(NamedTuple):
    """A qualifier of the question and what stands in its place."""

    asked: str
    found: str
    where: str
    """Which sentence tells it: the same, or an earlier one that it goes on from."""


def find_confusion(look: Look) -> Iterator[Evidence]:
    """The sentences that wrong answers rest on, if what they tell of is not what was asked."""
    if look.judged is None:
        return
    for said, places in look.origins:
        if not places or not look.is_of_relation(said, places[0]):
            continue
        if difference := _difference(look, places[0]):
            place = places[0]
            yield Evidence(
                type="E3",
                what=f"“{said.text}” is told of something else{difference.where}",
                document=place.document,
                start=place.sentence.start,
                end=place.sentence.end,
                sentence=place.sentence.text.strip(),
                asked=difference.asked,
                found=difference.found,
            )
            return


def _difference(look: Look, place: Place) -> Difference | None:
    """The first qualifier that differs; the parts of a question are asked about as one."""
    asked = look.asked
    certain = _other_year(asked, place) or _other_ordinal(asked, place) or _other_name(asked, place)
    if certain or look.evidence(find_distance):
        return certain
    return _other_kind_en(look, place) if asked.lang == "en" else _other_kind_zh(look, place)


def _scopes(place: Place) -> Iterator[tuple[str, str]]:
    """The sentence without the answer, then those before it, nearest first, each with how to speak of it."""
    sentence = place.sentence
    answer = place.page.folded[place.mention.start : place.mention.end]
    yield sentence.folded.replace(answer, " " * len(answer)), ""
    for earlier in reversed(place.page.sentences[: sentence.number]):
        yield earlier.folded, ", by an earlier sentence"


def _other_year(asked: Asked, place: Place) -> Difference | None:
    if not asked.years:
        return None
    answer = place.page.folded[place.mention.start : place.mention.end]
    for folded, where in _scopes(place):
        years = [(match.start(), match[0]) for match in YEAR.finditer(folded)]
        if not years:
            continue
        at = place.sentence.folded.find(answer)
        nearest = min(years, key=lambda year: abs(year[0] - at))[1] if not where else years[-1][1]
        if nearest in asked.years:
            return None
        return Difference(", ".join(sorted(asked.years)), nearest, where)
    return None


def _other_ordinal(asked: Asked, place: Place) -> Difference | None:
    for folded, where in _scopes(place):
        found = ordinals_in(folded)
        for of, which in sorted(asked.ordinals):
            same = [other for kind, other in sorted(found) if kind == of]
            if same and which not in same:
                return Difference(f"{of} {which}".strip(), f"{of} {same[0]}".strip(), where)
            if same:
                return None
    return None


def _other_name(asked: Asked, place: Place) -> Difference | None:
    """None of the question's names in the document, or others in their place in the sentence."""
    if not asked.names or PRONOUN.search(place.sentence.folded):  # an excerpt need not say who 'she' is
        return None
    if not asked.names_in(place.page.folded):
        return Difference(", ".join(asked.names), "no such name", ", as the document does not name it")
    start, end = place.page.place(place.mention)
    rest = place.page.text[place.sentence.start : start] + " " + place.page.text[end : place.sentence.end]
    others = [name[0] for name in _NAME.finditer(rest)]
    if len(others) > 1 and not asked.names_in(place.sentence.folded):
        return Difference(", ".join(asked.names), " ".join(others), "")
    return None


def _other_kind_en(look: Look, place: Place) -> Difference | None:
    """A word before a noun of the question that the question does not have: 'US Open' for 'Qatar Open'."""
    words = _WORD.findall(look.asked.folded)
    stems = [stem(word) for word in words]
    answer = frozenset(_WORD.findall(place.page.folded[place.mention.start : place.mention.end]))
    told = _WORD.findall(place.sentence.folded)
    usual = _pairs_by_gold(look)
    for before, noun in pairwise(told):
        if noun in STOP or before in answer or noun in answer or not _is_kind(before, look.asked):
            continue
        heads = [at for at, word in enumerate(stems) if word == stem(noun)]
        if not heads:
            continue
        of_question = [words[at - 1] for at in heads if at and words[at - 1] not in STOP]
        if (before, stem(noun)) not in usual:
            asked = f"{of_question[0]} {noun}" if of_question else noun
            return Difference(asked, f"{before} {noun}", "")
    return None


def _is_kind(word: str, asked: Asked) -> bool:
    """Whether a word may tell one kind of thing from another: no grammar, no verb, nothing the question has too."""
    if word in STOP or word in _NEUTRAL or stem(word) in asked.content or word.removesuffix("'s") in asked.content:
        return False
    return not word.endswith(("ed", "ly", "ing", "s")) or word.endswith(("men's", "ss"))


def _pairs_by_gold(look: Look) -> set[tuple[str, str]]:
    """How sentences that give the right answer speak: what they say makes no other thing of it."""
    pairs: set[tuple[str, str]] = set()
    for slot in look.gold.slots:
        for place in look.places(slot):
            words = _WORD.findall(place.sentence.folded)
            pairs |= {(before, stem(noun)) for before, noun in pairwise(words)}
    return pairs


def _other_kind_zh(look: Look, place: Place) -> Difference | None:
    """The same as in English: 女单 for 男单, 汽车业务收入 for 收入."""
    question, told = look.asked.folded, place.sentence.folded
    answer = place.page.folded[place.mention.start : place.mention.end]
    told = told.replace(answer, " " * len(answer))
    usual = [one.sentence.folded for slot in look.gold.slots for one in look.places(slot)]
    return _contrast_zh(question, told) or _inserted_zh(question, told, usual)


def _contrast_zh(question: str, told: str) -> Difference | None:
    for kinds in _CONTRASTS_ZH:
        for at, mine in enumerate(question[:-1]):
            noun = question[at + 1 : at + 3]
            if mine in kinds and f"{mine}{noun}" not in told:
                for other in kinds.replace(mine, ""):
                    if len(noun) == 2 and f"{other}{noun}" in told:
                        return Difference(f"{mine}{noun}", f"{other}{noun}", "")
    return None


def _inserted_zh(question: str, told: str, usual: Sequence[str]) -> Difference | None:
    """A kind before the noun that is asked for, which in the question has none."""
    noun = re.search(r"([\u4e00-\u9fff]{2})(?:分别)?(?:是|为|有|达到?)?(?:多少|几|什么)", question)
    if noun is None:
        return None
    for match in re.finditer(rf"([\u4e00-\u9fff]{{2,{_LONGEST_KIND_ZH}}})(?={noun[1]})", told):
        kind = _NEUTRAL_ZH.sub("", match[1])
        if len(kind) > 1 and not any(kind in text for text in usual) and not _shares(kind, question):
            return Difference(noun[1], f"{match[1]}{noun[1]}", "")
    return None


def _shares(kind: str, question: str) -> bool:
    return any(kind[at : at + 2] in question for at in range(len(kind) - 1))

"""E3, concept confusion: the sentence with the wrong answer is about a subject similar to that of the question.

The sentence is about another year, ordinal, name or kind, e.g. 2018 instead of 2022, or automotive revenue instead of
revenue. A different kind is weak evidence, so it counts only if the right answer was not far from the subject (unlike
in E1). In the paper's first example, the US Open is confused with the Qatar Open. Other examples are 女单 instead of
男单, and 汽车业务营收 instead of 营收.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragbed.analysis.diagnosis.context import AnswerLocation, TrialContext
from ragbed.analysis.diagnosis.distance import PRONOUN, find_distance
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.question_terms import FRAME_ZH, STOP, YEAR, QuestionTerms, ordinals_in, stem
from ragbed.analysis.diagnosis.records import Evidence

_NAME = re.compile(r"(?<=[a-z0-9,] )[A-Z][a-z]\w*")  # a capitalised word within a sentence; Chinese has no capitals
_UNMATCHED = "other"  # key of the evidence text for a sentence that contains the answer but does not match the question
_CLAUSE = re.compile(r"[,;:、。]|\band\b|\bwhile\b|而")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
# Words that do not change the meaning of the noun that follows them.
_NEUTRAL_EN = """
    maximum minimum preliminary provisional
    total overall whole entire main actual final own same such its new current exact official reported following
    next last previous other another second-hand annual company group team country record decisive took take takes
    came went made gave won held set put got
"""
_NEUTRAL = frozenset(_NEUTRAL_EN.split())
_NEUTRAL_ZH = re.compile(
    rf"(?:{FRAME_ZH}|实现|列出|列明|给出|交出|取得|获得|公布|录得|超过|突破|报告|季度|总|全年|年度|公司|整体|最终|期内|[0-9年月日])+$"
)
_LONGEST_KIND_ZH = 4
# Groups of contrasting characters, e.g. 男 and 女 (male and female), that distinguish two variants of a noun.
_CONTRASTS_ZH = "男女 东西南北 上下 春夏秋冬 内外 前后 正副 大小 新旧 单双 城郊 初终 青成少老"
_ASKED_FOR_ZH = re.compile(r"(.?)([\u4e00-\u9fff]{2})(?:分别)?(?:是|为|有|达到?)?(?:多少|几|什么)")


class Difference(NamedTuple):
    """A qualifier in the question and its replacement in the document.

    `found` is None if the name is missing. `where` is the key of the evidence text, which depends on whether the
    replacement is in the same sentence, in an earlier one, or missing.
    """

    asked: str
    found: str | None
    where: str


def find_confusion(trial: TrialContext) -> Iterator[Evidence]:
    """Yield evidence for the first wrong answer in a sentence whose subject differs from that of the question."""
    if trial.judged is None:
        return
    for answer, places in trial.origins:
        # Edited documents are about the right subject; only their answer is false.
        if not places or not trial.is_of_relation(answer, places[0]) or trial.stance(places[0]) == "contradicts":
            continue
        if difference := _difference(trial, places[0]):
            asked, found, where = difference
            yield Evidence(type="E3", **tell(where, said=answer.text), **places[0].fields, asked=asked, found=found)
            return


def _difference(trial: TrialContext, place: AnswerLocation) -> Difference | None:
    """Return the first qualifier that differs between the question and the document."""
    terms = trial.terms
    certain = _other_year(terms, place) or _other_ordinal(terms, place) or _other_name(terms, place)
    if certain or trial.evidence(find_distance):
        return certain
    kind = _find_other_kind(trial, place)
    return None if kind is None else Difference(*kind, _UNMATCHED)


def _scopes(place: AnswerLocation) -> Iterator[tuple[str, str]]:
    """Yield the sentence with the answer blanked out, then earlier sentences (nearest first), with evidence keys."""
    yield _without_answer(place), _UNMATCHED
    for earlier in reversed(place.page.sentences[: place.sentence.number]):
        yield earlier.folded, "other.earlier"


def _without_answer(place: AnswerLocation) -> str:
    return place.sentence.folded.replace(place.answer, " " * len(place.answer))


def _other_year(terms: QuestionTerms, place: AnswerLocation) -> Difference | None:
    if not terms.years:
        return None
    for folded, where in _scopes(place):
        at = place.sentence.folded.find(place.answer) if where == _UNMATCHED else len(folded)
        year = _year_for(folded, at, at + len(place.answer) if where == _UNMATCHED else at)
        if year in terms.years:
            return None
        if year is not None:
            return Difference(", ".join(sorted(terms.years)), year, where)
    return None


def _year_for(folded: str, start: int, end: int) -> str | None:
    """Return the nearest year in a span's clause, otherwise the last year before the span, otherwise the first year."""
    years = list(YEAR.finditer(folded))
    borders = [match.span() for match in _CLAUSE.finditer(folded)]
    first = max((after for _, after in borders if after <= start), default=0)
    last = min((before for before, _ in borders if before >= end), default=len(folded))
    inside = [year for year in years if first <= year.start() and year.end() <= last]
    before = [year for year in years if year.end() <= start]
    if inside:
        return min(inside, key=lambda year: abs(year.start() - start))[0]
    return before[-1][0] if before else years[0][0] if years else None


def _other_ordinal(terms: QuestionTerms, place: AnswerLocation) -> Difference | None:
    for folded, where in _scopes(place):
        found = ordinals_in(folded)
        for of, which in sorted(terms.ordinals):
            same = [other for kind, other in sorted(found) if kind == of]
            if same and which not in same:
                return Difference(f"{of} {which}".strip(), f"{of} {same[0]}".strip(), where)
            if same:
                return None
    return None


def _other_name(terms: QuestionTerms, place: AnswerLocation) -> Difference | None:
    """Return the question's names if the document contains none of them, or contains another name in their place."""
    if not terms.names or PRONOUN.search(place.sentence.folded):  # a pronoun may refer to a name outside the excerpt
        return None
    if terms.is_absent(place.page.folded):
        return Difference(", ".join(terms.names), None, "other.unnamed")
    start, end = place.page.place(place.mention)
    rest = place.page.text[place.sentence.start : start] + " " + place.page.text[end : place.sentence.end]
    others = [name[0] for name in _NAME.finditer(rest)]
    if len(others) > 1 and not terms.names_in(place.sentence.folded):
        return Difference(", ".join(terms.names), " ".join(others), _UNMATCHED)
    return None


def _find_other_kind(trial: TrialContext, place: AnswerLocation) -> tuple[str, str] | None:
    """Return a noun phrase from the question, and the variant of it that the sentence contains instead."""
    if trial.case.lang == "en":
        return _other_kind_en(trial, place)
    question, sentence = trial.terms.folded, _without_answer(place)
    usual = [right.sentence.folded for slot in trial.gold.slots for right in trial.places(slot)]
    return _contrast_zh(question, sentence) or _inserted_zh(question, sentence, usual)


def _other_kind_en(trial: TrialContext, place: AnswerLocation) -> tuple[str, str] | None:
    words = [word.lower() for word in _WORD.findall(trial.case.question)]
    stems = [stem(word) for word in words]
    start, end = place.page.place(place.mention)
    answer = {word.lower() for word in _WORD.findall(place.page.text[start:end])}
    right = [location.sentence.text for slot in trial.gold.slots for location in trial.places(slot)]
    usual = {pair for sentence in right for pair in _pairs(sentence)}
    for before, noun in _pairs(place.sentence.text):
        if noun not in stems or before in answer or not _is_kind(before, trial.terms) or (before, noun) in usual:
            continue
        heads = [at for at, word in enumerate(stems) if word == noun and words[at] not in answer]
        of_question = [words[at - 1] for at in heads if at and words[at - 1] not in STOP]
        if heads:
            word = words[heads[0]]
            return f"{of_question[0]} {word}" if of_question else word, f"{before} {word}"
    return None


def _pairs(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield each word that can qualify the next word, with the stem of the next word. Only names can qualify a name."""
    for before, noun in pairwise(_WORD.findall(sentence)):
        if noun.lower() not in STOP and (before[0].isupper() or noun[0].islower()):
            yield before.lower(), stem(noun.lower())


def _is_kind(word: str, terms: QuestionTerms) -> bool:
    """Return whether a word narrows the meaning of a noun; function words, verbs and words from the question do not."""
    if word in STOP or word in _NEUTRAL or stem(word) in terms.content or word.removesuffix("'s") in terms.content:
        return False
    return not word.endswith(("ed", "ly", "ing", "s")) or word.endswith(("men's", "ss", "us"))


def _contrast_zh(question: str, sentence: str) -> tuple[str, str] | None:
    for kinds in _CONTRASTS_ZH.split():
        for at, mine in enumerate(question[:-2]):
            noun = question[at + 1 : at + 3]
            if mine in kinds and f"{mine}{noun}" not in sentence:
                for other in kinds.replace(mine, ""):
                    if f"{other}{noun}" in sentence:
                        return f"{mine}{noun}", f"{other}{noun}"
    return None


def _inserted_zh(question: str, sentence: str, usual: Sequence[str]) -> tuple[str, str] | None:
    """Return the noun that the question asks for and the narrower term that the sentence uses instead, or None."""
    if (requested := _ASKED_FOR_ZH.search(question)) is None:
        return None
    before, noun = requested.groups()
    for match in re.finditer(rf"([\u4e00-\u9fff]{{2,{_LONGEST_KIND_ZH}}})(?={noun})", sentence):
        kind = _NEUTRAL_ZH.sub("", match[1])
        is_same_word = match[1][-1] == before  # the question and the sentence contain the same word, e.g. 火车票
        is_known = any(kind in text for text in usual) or any(a + b in question for a, b in pairwise(kind))
        if len(kind) > 1 and not is_same_word and not is_known:
            return noun, f"{match[1]}{noun}"
    return None

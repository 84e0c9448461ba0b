"""E3, concept confusion: the sentence that the wrong answer rests on tells of a look-alike of what was asked about.

It is another year, ordinal, name or kind: 2018 for 2022, automotive revenue for revenue. A word before a noun is weak
evidence: it counts only where the right answer was not out of reach (E1), as in the paper's first example, where the US
Open stands in for the Qatar Open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragbed.analysis.diagnosis.context import AnswerLocation, TrialContext
from ragbed.analysis.diagnosis.distance import PRONOUN, find_distance
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.noun_kinds import find_other_kind
from ragbed.analysis.diagnosis.question_terms import YEAR, QuestionTerms, ordinals_in
from ragbed.analysis.diagnosis.records import Evidence

_NAME = re.compile(r"(?<=[a-z0-9,] )[A-Z][a-z]\w*")
"""A word with a capital inside a sentence; in Chinese, names cannot be told so."""
_SAME = "other"
"""A key of the words: the sentence itself tells of something else."""
_CLAUSE = re.compile(r"[,;:、。]|\band\b|\bwhile\b|而")


class Difference(NamedTuple):
    """A qualifier of the question and what stands in its place."""

    asked: str
    found: str | None
    """None where it is the name that is missing."""
    where: str
    """Which words tell it: the same sentence, an earlier one that it goes on from, or a name that is missing."""


def find_confusion(look: TrialContext) -> Iterator[Evidence]:
    """The sentences that wrong answers rest on, if what they tell of is not what was asked."""
    if look.judged is None:
        return
    for said, places in look.origins:
        if not places or not look.is_of_relation(said, places[0]) or _is_falsified(look, places[0]):
            continue
        if difference := _difference(look, places[0]):
            place = places[0]
            yield Evidence(
                type="E3",
                **tell(difference.where, said=said.text),
                document=place.document,
                start=place.sentence.start,
                end=place.sentence.end,
                sentence=place.sentence.text.strip(),
                asked=difference.asked,
                found=difference.found,
            )
            return


def _is_falsified(look: TrialContext, place: AnswerLocation) -> bool:
    """A document in which the answer was changed tells of the very thing that was asked."""
    return look.case.documents[place.document].stance == "contradicts"


def _difference(look: TrialContext, place: AnswerLocation) -> Difference | None:
    """The first qualifier that differs; the parts of a question are asked about as one."""
    asked = look.asked
    certain = _other_year(asked, place) or _other_ordinal(asked, place) or _other_name(asked, place)
    if certain or look.evidence(find_distance):
        return certain
    kind = find_other_kind(look, place)
    return None if kind is None else Difference(*kind, _SAME)


def _scopes(place: AnswerLocation) -> Iterator[tuple[str, str]]:
    """The sentence without the answer, then those before it, nearest first, each with the words for it."""
    sentence = place.sentence
    answer = place.page.folded[place.mention.start : place.mention.end]
    yield sentence.folded.replace(answer, " " * len(answer)), _SAME
    for earlier in reversed(place.page.sentences[: sentence.number]):
        yield earlier.folded, "other.earlier"


def _other_year(asked: QuestionTerms, place: AnswerLocation) -> Difference | None:
    if not asked.years:
        return None
    answer = place.page.folded[place.mention.start : place.mention.end]
    for folded, where in _scopes(place):
        at = place.sentence.folded.find(answer) if where == _SAME else len(folded)
        year = _year_for(folded, at, at + len(answer) if where == _SAME else at)
        if year in asked.years:
            return None
        if year is not None:
            return Difference(", ".join(sorted(asked.years)), year, where)
    return None


def _year_for(folded: str, start: int, end: int) -> str | None:
    """The year that a stretch of a sentence is told of: one in its clause, else the last before it, else the next."""
    years = list(YEAR.finditer(folded))
    borders = [match.span() for match in _CLAUSE.finditer(folded)]
    first = max((after for _, after in borders if after <= start), default=0)
    last = min((before for before, _ in borders if before >= end), default=len(folded))
    inside = [year for year in years if first <= year.start() and year.end() <= last]
    before = [year for year in years if year.end() <= start]
    if inside:
        return min(inside, key=lambda year: abs(year.start() - start))[0]
    return before[-1][0] if before else years[0][0] if years else None


def _other_ordinal(asked: QuestionTerms, place: AnswerLocation) -> Difference | None:
    for folded, where in _scopes(place):
        found = ordinals_in(folded)
        for of, which in sorted(asked.ordinals):
            same = [other for kind, other in sorted(found) if kind == of]
            if same and which not in same:
                return Difference(f"{of} {which}".strip(), f"{of} {same[0]}".strip(), where)
            if same:
                return None
    return None


def _other_name(asked: QuestionTerms, place: AnswerLocation) -> Difference | None:
    """None of the question's names in the document, or others in their place in the sentence."""
    if not asked.names or PRONOUN.search(place.sentence.folded):  # an excerpt need not say who 'she' is
        return None
    if asked.is_absent(place.page.folded):
        return Difference(", ".join(asked.names), None, "other.unnamed")
    start, end = place.page.place(place.mention)
    rest = place.page.text[place.sentence.start : start] + " " + place.page.text[end : place.sentence.end]
    others = [name[0] for name in _NAME.finditer(rest)]
    if len(others) > 1 and not asked.names_in(place.sentence.folded):
        return Difference(", ".join(asked.names), " ".join(others), _SAME)
    return None

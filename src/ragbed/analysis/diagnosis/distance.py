"""E1, long-distance information: what is asked about stands far from the answer, which then has only pronouns by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from msgspec import structs

from ragbed.analysis.diagnosis.context import AnswerLocation, TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.parsed_text import tokens
from ragbed.analysis.diagnosis.question_terms import QuestionTerms, years_in
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.text import counted

FAR_TOKENS = 60
"""Between the name and the answer; requirements 14.6. Characters count as tokens in Chinese, which is a little less."""
FAR_SENTENCES = 2
"""The same in sentences: the next one is still near."""

PRONOUN = re.compile(r"\b(?:he|him|his|she|her|hers|they|them|their|theirs)\b|[他她它]|其(?!他|它|实|中|余)")
"""What may stand for the name of somebody who was named before."""


def find_distance(look: TrialContext) -> Iterator[Evidence]:
    """Every part that is answered wrongly, if no document that has the answer names beside it what was asked.

    Distance led nobody astray who answers from the very sentence that has the right answer, or from one that says the
    wrong one of what was asked in plain words, or who only recites.
    """
    if look.judged is None or look.judged.refused or look.reply.is_copy:
        return
    origins = [places[0] for _, places in look.origins if places]
    if any(_is_plain(look, place) for place in origins) or (len(look.gold.slots) > 1 and not look.reply.wrong):
        return
    read = {(place.document, place.sentence.number) for place in origins}
    for part in look.missing:
        bearing = [place for place in look.places(look.gold.slots[part]) if _supports(look, place)]
        if any((place.document, place.sentence.number) in read for place in bearing):
            continue
        far = [_far(look.asked_of(part), place) for place in bearing]
        found = [evidence for evidence in far if evidence is not None]
        if found and len(found) == len(far):
            yield from (evidence if len(look.gold.slots) == 1 else _of_part(evidence, part) for evidence in found[:1])


def _is_plain(look: TrialContext, place: AnswerLocation) -> bool:
    """Whether a sentence of a document that does not support names what was asked: half of its names, and the years."""
    asked, folded = look.asked, place.sentence.folded
    if _supports(look, place):
        return False
    return asked.years <= years_in(folded) and 2 * len(asked.names_in(folded)) >= len(asked.names)


def _supports(look: TrialContext, place: AnswerLocation) -> bool:
    return look.case.documents[place.document].stance == "supports"


def _of_part(evidence: Evidence, part: int) -> Evidence:
    return structs.replace(evidence, part=part)


def _far(asked: QuestionTerms, place: AnswerLocation) -> Evidence | None:
    """Why an answer is out of reach; None where its own sentence names what was asked about."""
    sentence = place.sentence
    if not (asked.names or asked.years) or asked.anchors_in(sentence.folded):
        return None
    earlier = place.page.sentences[: sentence.number]
    between = list(takewhile(lambda one: not asked.names_in(one.folded), reversed(earlier)))
    if len(between) == len(earlier):  # it is named nowhere before
        return None
    gap = sum(len(tokens(one.folded)) for one in between)
    pronoun = PRONOUN.search(sentence.folded)
    if gap <= FAR_TOKENS and len(between) + 1 < FAR_SENTENCES and pronoun is None:
        return None
    return Evidence(
        type="E1",
        **tell("far", sentences=len(between) + 1, count=counted(len(between) + 1, "sentence")),
        document=place.document,
        start=sentence.start,
        end=sentence.end,
        sentence=sentence.text.strip(),
        cue=pronoun[0] if pronoun else None,
        asked=", ".join(asked.names_in(earlier[-len(between) - 1].folded)),
        distance=gap,
    )

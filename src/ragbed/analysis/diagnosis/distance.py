"""E1, long-distance information: the question's subject is named far from the answer."""

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

FAR_TOKENS = 60  # distance, in words or Chinese characters, above which subject and answer count as far apart
FAR_SENTENCES = 2  # minimum distance in sentences that counts as far; adjacent sentences are near

# Pronouns that can refer to a subject named earlier.
PRONOUN = re.compile(r"\b(?:he|him|his|she|her|hers|they|them|their|theirs)\b|[他她它]|其(?!他|它|实|中|余)")


def find_distance(trial: TrialContext) -> Iterator[Evidence]:
    """Yield each wrongly answered part whose answer is far from the subject's name in every supporting document.

    Distance is not the cause if the response uses the sentence with the right answer, uses a sentence that clearly
    gives the wrong answer for the subject, or only copies a document.
    """
    if trial.judged is None or trial.judged.refused or trial.reply.is_copy:
        return
    origins = [places[0] for _, places in trial.origins if places]
    has_parts = len(trial.gold.slots) > 1
    if any(_is_plain(trial, place) for place in origins) or (has_parts and not trial.reply.wrong):
        return
    used = {(place.document, place.sentence.number) for place in origins}
    for part in trial.missing:
        bearing = [place for place in trial.places(trial.gold.slots[part]) if trial.stance(place) == "supports"]
        if any((place.document, place.sentence.number) in used for place in bearing):
            continue
        far = [_far(trial.terms_of(part), place) for place in bearing]
        if far and far[0] is not None and None not in far:
            yield structs.replace(far[0], part=part) if has_parts else far[0]


def _is_plain(trial: TrialContext, place: AnswerLocation) -> bool:
    """Return whether a non-supporting sentence contains all years and at least half of the names in the question."""
    terms, folded = trial.terms, place.sentence.folded
    if trial.stance(place) == "supports":
        return False
    return terms.years <= years_in(folded) and 2 * len(terms.names_in(folded)) >= len(terms.names)


def _far(terms: QuestionTerms, place: AnswerLocation) -> Evidence | None:
    """Return evidence that an answer is far from the subject, or None if the answer is near it."""
    sentence = place.sentence
    if not (terms.names or terms.years) or terms.anchors_in(sentence.folded):
        return None
    earlier = place.page.sentences[: sentence.number]
    between = list(takewhile(lambda before: not terms.names_in(before.folded), reversed(earlier)))
    if len(between) == len(earlier):  # no earlier sentence names the subject
        return None
    gap = sum(len(tokens(before.folded)) for before in between)
    pronoun = PRONOUN.search(sentence.folded)
    if gap <= FAR_TOKENS and len(between) + 1 < FAR_SENTENCES and pronoun is None:
        return None
    return Evidence(
        type="E1",
        **tell("far", sentences=len(between) + 1, count=counted(len(between) + 1, "sentence")),
        **place.fields,
        cue=pronoun[0] if pronoun else None,
        asked=", ".join(terms.names_in(earlier[-len(between) - 1].folded)),
        distance=gap,
    )

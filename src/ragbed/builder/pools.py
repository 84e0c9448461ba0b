"""Label ranked passages for their question, and drop duplicates and passages that cannot be in the same item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragbed.builder.build_context import Build, reject
from ragbed.builder.records import Candidate, Draft, LabelledPool, Ranked
from ragbed.builder.statements import STANCES, WEAK, find_answer, label_passage
from ragbed.retrieval.near_duplicates import find_near, unspaced
from ragbed.schema import Labelling, Passage, Question, Reject

STEP = "stances"
_UNRELATED = "random"  # label of unrelated passages, which are not noise in the paper's sense


def sift(texts: Sequence[str], labellings: Sequence[Labelling]) -> list[str]:
    """Return the reason why each passage is dropped, or an empty string if it is kept.

    Supporting passages take precedence: a distractor that is a near-duplicate of a supporting passage is dropped,
    because one of the labels would be wrong or the answer would depend on a few words.
    """
    reasons = [""] * len(texts)
    near = find_near(texts)
    places: dict[str, int] = {}
    kept: set[int] = set()
    order = sorted(range(len(texts)), key=lambda place: (STANCES[labellings[place].label] != "supports", place))
    for place in order:
        labelling, text = labellings[place], unspaced(texts[place])
        duplicates = kept & near[place]
        if STANCES[labelling.label] is None:
            reasons[place] = f"mention: {labelling.reason}"
        elif not text:
            reasons[place] = "blank: the passage has no text"
        elif text in places:
            reasons[place] = f"duplicate: it is identical to passage {places[text]}"
        elif duplicates:
            reasons[place] = f"near-duplicate: it is almost the same as passage {min(duplicates)}"
        else:
            kept.add(place)
            places[text] = place
    return reasons


def find_shortcuts(question: Question, texts: Sequence[str]) -> list[int]:
    """Return the indexes of passages that make integration unnecessary by stating every part of a multi-part answer."""
    if len(question.answer) == 1:
        return []
    return [
        place
        for place, text in enumerate(texts)
        if all(any(mention.rule not in WEAK for mention in found) for found in find_answer(question, text))
    ]


class _Job(NamedTuple):
    """A question and its candidate passages.

    `distracts` is the number of distractors that an item needs; if there are too few related passages, the nearest
    unrelated ones are added.
    """

    draft: Draft
    candidates: Sequence[Candidate]
    distracts: int


def make_pools(build: Build) -> Iterator[LabelledPool | Reject]:
    """Label passages, and drop those that cannot be in the same item."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    ranked = list(build.read("ranking", Ranked))
    jobs = (_Job(drafts[one.question], one.candidates, build.recipe.pools.distracts) for one in ranked)
    for number, found in enumerate(build.engine.spread(_make_pool, jobs)):
        build.watch(STEP, number, len(ranked))
        yield from found


def _make_pool(job: _Job) -> list[LabelledPool | Reject]:
    draft = job.draft
    found: list[LabelledPool | Reject] = []
    labellings = [label_passage(draft, candidate.text, title=candidate.title) for candidate in job.candidates]
    reasons = sift([candidate.text for candidate in job.candidates], labellings)
    passages = []
    kept = [labelling for labelling, reason in zip(labellings, reasons, strict=True) if not reason]
    related = sum(STANCES[labelling.label] == "distracts" and labelling.label != _UNRELATED for labelling in kept)
    missing = job.distracts - related
    for candidate, labelling, reason in zip(job.candidates, labellings, reasons, strict=True):
        is_unrelated = not reason and labelling.label == _UNRELATED
        unrelated = f"{_UNRELATED}: {labelling.reason}" if is_unrelated and missing <= 0 else ""
        missing -= is_unrelated
        outcome, _, why = (reason or unrelated).partition(": ")
        if outcome:
            found.append(reject(STEP, candidate.url, outcome, f"for {draft.question!r}: {why}"))
        else:
            passages.append(_passage(candidate, labelling))
    return [*found, LabelledPool(question=draft.id, passages=tuple(passages))]


def _passage(candidate: Candidate, labelling: Labelling) -> Passage:
    stance = STANCES[labelling.label] or "distracts"
    return Passage(
        text=candidate.text,
        stance=stance,
        kind="related" if stance == "supports" else labelling.label,
        support=labelling.support if stance == "supports" else None,
        url=candidate.url,
        title=candidate.title or None,
        date=candidate.date,
        snippet_of=candidate.url if candidate.is_snippet else None,
        page=candidate.page,
        licence=candidate.licence,
    )

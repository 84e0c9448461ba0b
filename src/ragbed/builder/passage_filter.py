"""Filter labelled passages to those that fit into one item; record the reason for each rejected one."""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.builder.labelling import STANCES
from ragbed.builder.mentions import WEAK, AnswerMention, find_answer
from ragbed.retrieval.near_duplicates import find_near, unspaced
from ragbed.schema import Labelling, Question


def sift(texts: Sequence[str], labellings: Sequence[Labelling]) -> list[str]:
    """Return the reason why each passage is left out; empty if it stays.

    Supporting passages take precedence, so that a distractor that is a near-duplicate of one is left out: one of the
    labels would be wrong, or the answer would depend on a few words.
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
            reasons[place] = "blank: it has no text"
        elif text in places:
            reasons[place] = f"duplicate: it repeats passage {places[text]}"
        elif duplicates:
            reasons[place] = f"near-duplicate: it is similar to passage {min(duplicates)}"
        else:
            kept.add(place)
            places[text] = place
    return reasons


def find_shortcuts(question: Question, texts: Sequence[str]) -> list[int]:
    """Return the passages that alone give every part of a multi-part answer, so that nothing needs integrating."""
    if len(question.answer) == 1:
        return []
    return [place for place, text in enumerate(texts) if all(map(_is_given, find_answer(question, text)))]


def _is_given(mentions: Sequence[AnswerMention]) -> bool:
    return any(mention.rule not in WEAK for mention in mentions)

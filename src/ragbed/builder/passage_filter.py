"""Filter labelled passages to those that fit into one item; record the reason for each rejected one."""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.builder.labelling import STANCES
from ragbed.builder.mentions import WEAK, AnswerMention, find_answer
from ragbed.retrieval.near_duplicates import find_near, unspaced
from ragbed.schema import Labelling, Question


def sift(texts: Sequence[str], labellings: Sequence[Labelling]) -> list[str]:
    """For each passage why it cannot stay, and nothing if it can.

    Supporting passages are taken before distracting ones, each in their order, so that a distractor that is nearly a
    supporting passage goes: one of the two labels would be wrong, or the answer would hang on a few words.
    """
    reasons = [""] * len(texts)
    near = find_near(texts)
    places: dict[str, int] = {}
    kept: set[int] = set()
    order = sorted(range(len(texts)), key=lambda place: (STANCES[labellings[place].label] != "supports", place))
    for place in order:
        labelling, text = labellings[place], unspaced(texts[place])
        twins = kept & near[place]
        if STANCES[labelling.label] is None:
            reasons[place] = f"mention: {labelling.reason}"
        elif not text:
            reasons[place] = "blank: it has no text"
        elif text in places:
            reasons[place] = f"duplicate: it is passage {places[text]} again"
        elif twins:
            reasons[place] = f"near-duplicate: it is nearly passage {min(twins)}"
        else:
            kept.add(place)
            places[text] = place
    return reasons


def find_shortcuts(question: Question, texts: Sequence[str]) -> list[int]:
    """The passages that alone say every part of a several-part answer: with one of them nothing needs integrating."""
    if len(question.answer) == 1:
        return []
    return [place for place, text in enumerate(texts) if all(map(_says, find_answer(question, text)))]


def _says(held: Sequence[AnswerMention]) -> bool:
    return any(one.rule not in WEAK for one in held)

"""Rules for gold answers that are in the wrong documents or missing from the right ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.linting.rules import BOUNDARY, PLAIN, SPACELESS, Fault, View, quote, quote_alias, rule
from ragbed.data import kind_of
from ragbed.schema import Answer
from ragbed.text import all_stand_alone, holds_answer, holds_slot, plain, spaceless, squeezed, stands_alone

_BOTH = (PLAIN, SPACELESS)
_DOTS = re.compile(r"[.·・•‧∙⋅]")


@rule(
    "gold-in-negative",
    "error",
    "a distractor contains the complete answer",
    fix="Label the document as supporting, or remove it.",
    definitions=(*_BOTH, BOUNDARY),
)
def gold_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain all slots (definition `boundary`: not just inside longer numbers and words)."""
    answer = view.item.answer
    for index in view.pools["distracts"]:
        if definitions := view.matches(index, lambda text: holds_answer(text, answer)):
            text = view.folded[definitions[0]][index]
            definitions += (BOUNDARY,) if all_stand_alone(text, answer) else ()
            yield view.fault(index, f"contains the complete answer: {quote_alias(text, answer[0])}", definitions)


@rule(
    "loose-gold-in-negative",
    "note",
    "a distractor contains the answer if spaces and dots are ignored",
    fix="Read it: if it gives the answer in another spelling, label it as supporting.",
)
def loose_gold_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain all slots only if whitespace, dots and compatibility forms are ignored."""
    answer = tuple(tuple(_loose(alias) or alias for alias in aliases) for aliases in view.item.answer)
    for index in view.pools["distracts"]:
        text = _loose(view.item.passages[index].text)
        if holds_answer(text, answer) and not holds_answer(view.folded[PLAIN][index], view.item.answer):
            yield view.fault(index, f"may contain the answer: {quote_alias(text, answer[0])}")


def _loose(text: str) -> str:
    return _DOTS.sub("", squeezed(text))


@rule(
    "gold-part-in-negative",
    "warning",
    "a distractor contains a part of an answer with several parts",
    fix="Check whether it answers that part; if so, label it as supporting.",
    definitions=_BOTH,
)
def gold_part_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain at least one slot, but not all."""
    answer = view.item.answer
    for index in view.pools["distracts"] if len(answer) > 1 else ():
        if definitions := view.matches(index, lambda text: 0 < _slots_held(text, answer) < len(answer)):
            text = view.folded[definitions[0]][index]
            held = next(aliases for aliases in answer if holds_slot(text, aliases))
            yield view.fault(index, f"contains a part of the answer: {quote_alias(text, held)}", definitions)


@rule(
    "negatives-hold-gold",
    "warning",
    "distractors contain the complete answer together, but not individually",
    fix="Replace the documents that contain a part (rule gold-part-in-negative).",
    definitions=_BOTH,
)
def negatives_hold_gold(view: View) -> Iterator[Fault]:
    """Find items for which each slot occurs in at least one distractor."""
    answer, definitions = view.item.answer, []
    for name, texts in view.folded.items():
        negatives = [texts[index] for index in view.pools["distracts"]]
        together = all(any(holds_slot(text, aliases) for text in negatives) for aliases in answer)
        if together and not any(holds_answer(text, answer) for text in negatives):
            definitions.append(name)
    if definitions:
        message = f"together contain all {len(answer)} parts of the answer"
        yield Fault(view.pool("distracts"), message, tuple(definitions))


@rule(
    "positive-without-gold",
    "warning",
    "a supporting document does not contain the answer",
    fix=("If it gives the answer in other words, add them as an alias; otherwise label the document as a distractor."),
    definitions=_BOTH,
)
def positive_without_gold(view: View) -> Iterator[Fault]:
    """Find supporting documents that lack a slot; for integration items, documents that lack all slots."""
    answer = view.item.answer
    needed = 1 if kind_of(view.item) == "integration" else len(answer)
    for index in view.pools["supports"]:
        if definitions := view.matches(index, lambda text: _slots_held(text, answer) < needed):
            text = view.folded[definitions[0]][index]
            missing = next(aliases[0] for aliases in answer if not holds_slot(text, aliases))
            yield view.fault(index, f"does not contain {missing}", definitions)


def _slots_held(text: str, answer: Answer) -> int:
    return sum(holds_slot(text, aliases) for aliases in answer)


@rule(
    "slot-without-positive",
    "warning",
    "a part of the answer does not appear in any supporting document",
    fix="Add a document that gives it, or correct the answer.",
)
def slot_without_positive(view: View) -> Iterator[Fault]:
    """Find slots that the original scorer would not find in any supporting document.

    The original scorer ignores spaces in Chinese.
    """
    texts = list(view.folded.values())[-1]
    for number, aliases in enumerate(view.item.answer):
        if view.pools["supports"] and not any(holds_slot(texts[index], aliases) for index in view.pools["supports"]):
            yield Fault(f"answer[{number}]", f"no supporting document contains {aliases[0]}")


@rule(
    "gold-inside-longer",
    "warning",
    "a supporting document contains the answer only inside a longer word or number",
    fix="Check that the document supports the answer; if not, label it as a distractor.",
    definitions=_BOTH,
)
def gold_inside_longer(view: View) -> Iterator[Fault]:
    """Find documents that contain a slot only inside longer words or numbers."""
    for index in view.pools["supports"]:
        if definitions := view.matches(index, lambda text: _only_inside(text, view.item.answer) is not None):
            text = view.folded[definitions[0]][index]
            alias = _only_inside(text, view.item.answer) or ""
            at = text.find(alias.lower())
            yield view.fault(index, f"{alias} appears only in {quote(text, at, at + len(alias))}", definitions)


def _only_inside(text: str, answer: Answer) -> str | None:
    for aliases in answer:
        held = tuple(alias for alias in aliases if alias.lower() in text)
        if held and not stands_alone(text, held):
            return held[0]
    return None


@rule(
    "question-holds-gold",
    "warning",
    "the question contains the complete answer",
    fix="Rephrase the question: a model that repeats it would get credit.",
    definitions=_BOTH,
)
def question_holds_gold(view: View) -> Iterator[Fault]:
    """Find questions that contain all slots."""
    folds = {PLAIN: plain} | ({SPACELESS: spaceless} if view.item.lang == "zh" else {})
    definitions = [name for name, fold in folds.items() if holds_answer(fold(view.item.question), view.item.answer)]
    if definitions:
        yield Fault(view.field("question"), f"contains the answer {view.item.answer[0][0]}", tuple(definitions))


@rule(
    "one-document-holds-all",
    "warning",
    "one document contains all parts of the answer, so no integration is needed",
    fix="Remove the document, or shorten it to contain only one part.",
    definitions=_BOTH,
)
def one_document_holds_all(view: View) -> Iterator[Fault]:
    """Find supporting documents of integration items that contain all slots."""
    answer = view.item.answer
    if kind_of(view.item) == "integration" and len(answer) > 1:
        for index in view.pools["supports"]:
            if definitions := view.matches(index, lambda text: holds_answer(text, answer)):
                yield view.fault(index, f"contains all {len(answer)} parts", definitions)

"""Gold where it must not stand, or not where it must: the labels of documents against what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.linting.boundaries import BOUNDARY
from ragbed.analysis.linting.rules import PLAIN, SPACELESS, Fault, View, quote_alias, rule
from ragbed.data import kind_of
from ragbed.schema import Answer
from ragbed.text import all_stand_alone, holds_answer, holds_slot, plain, spaceless, squeezed

_BOTH = (PLAIN, SPACELESS)
_DOTS = re.compile(r"[.·・•‧∙⋅]")


@rule(
    "gold-in-negative",
    "error",
    "a distracting document holds the full answer",
    fix="Move the document to the supporting ones, or remove it.",
    definitions=(*_BOTH, BOUNDARY),
)
def gold_in_negative(view: View) -> Iterator[Fault]:
    """All slots are contained; `boundary`: none of them only inside a longer number or word."""
    answer = view.item.answer
    for index in view.pools["distracts"]:
        senses = view.senses(index, lambda text: holds_answer(text, answer))
        if senses:
            text = view.folded[senses[0]][index]
            senses += (BOUNDARY,) if all_stand_alone(text, answer) else ()
            yield view.fault(index, f"holds the full answer: {quote_alias(text, answer[0])}", senses)


@rule(
    "loose-gold-in-negative",
    "note",
    "a distracting document holds the answer, but for spaces and dots",
    fix="Read it: if it gives the answer in other spelling, move it to the supporting ones.",
)
def loose_gold_in_negative(view: View) -> Iterator[Fault]:
    """Both sides without white space and dots, compatibility forms unified; less those that hold it plainly."""
    answer = tuple(tuple(_loose(alias) or alias for alias in aliases) for aliases in view.item.answer)
    for index in view.pools["distracts"]:
        if holds_answer(view.folded[PLAIN][index], view.item.answer):
            continue
        text = _loose(view.item.passages[index].text)
        if holds_answer(text, answer):
            yield view.fault(index, f"may hold the answer: {quote_alias(text, answer[0])}")


@rule(
    "gold-part-in-negative",
    "warning",
    "a distracting document holds a part of a several-part answer",
    fix="Check whether it answers that part; if so, move it to the supporting ones.",
    definitions=_BOTH,
)
def gold_part_in_negative(view: View) -> Iterator[Fault]:
    """At least one slot is contained, but not all."""
    answer = view.item.answer
    if len(answer) == 1:
        return
    for index in view.pools["distracts"]:
        senses = view.senses(index, lambda text: 0 < _slots_held(text, answer) < len(answer))
        if senses:
            text = view.folded[senses[0]][index]
            held = next(aliases for aliases in answer if holds_slot(text, aliases))
            yield view.fault(index, f"holds a part of the answer: {quote_alias(text, held)}", senses)


@rule(
    "negatives-hold-gold",
    "warning",
    "distracting documents hold the answer together, none alone",
    fix="Replace those that hold a part (rule gold-part-in-negative).",
    definitions=_BOTH,
)
def negatives_hold_gold(view: View) -> Iterator[Fault]:
    """Every slot is contained in some distracting document."""
    answer, senses = view.item.answer, []
    for name, texts in view.folded.items():
        negatives = [texts[index] for index in view.pools["distracts"]]
        together = all(any(holds_slot(text, aliases) for text in negatives) for aliases in answer)
        if together and not any(holds_answer(text, answer) for text in negatives):
            senses.append(name)
    if senses:
        yield Fault(view.pool("distracts"), f"together hold all {len(answer)} parts of the answer", tuple(senses))


@rule(
    "positive-without-gold",
    "warning",
    "a supporting document does not hold the answer",
    fix="If it gives the answer in other words, add these as an alias; else move it to the distracting ones.",
    definitions=_BOTH,
)
def positive_without_gold(view: View) -> Iterator[Fault]:
    """Some slot is not contained; in integration items, where documents share the parts, no slot is."""
    answer = view.item.answer
    needed = 1 if kind_of(view.item) == "integration" else len(answer)
    for index in view.pools["supports"]:
        senses = view.senses(index, lambda text: _slots_held(text, answer) < needed)
        if senses:
            lacking = _first_lacking(view.folded[senses[0]][index], answer)
            yield view.fault(index, f"does not hold {lacking}", senses)


@rule(
    "slot-without-positive",
    "warning",
    "a part of the answer stands in no supporting document",
    fix="Add a document that gives it, or correct the answer.",
)
def slot_without_positive(view: View) -> Iterator[Fault]:
    """Read as the original scorer reads: spaces removed in Chinese."""
    texts = list(view.folded.values())[-1]
    for number, aliases in enumerate(view.item.answer):
        if view.pools["supports"] and not any(holds_slot(texts[index], aliases) for index in view.pools["supports"]):
            yield Fault(f"answer[{number}]", f"{aliases[0]} stands in no supporting document")


@rule(
    "question-holds-gold",
    "warning",
    "the question holds the full answer",
    fix="Ask differently: a model that repeats the question would score.",
    definitions=_BOTH,
)
def question_holds_gold(view: View) -> Iterator[Fault]:
    """All slots are contained in the question."""
    folds = {PLAIN: plain} | ({SPACELESS: spaceless} if view.item.lang == "zh" else {})
    senses = [name for name, fold in folds.items() if holds_answer(fold(view.item.question), view.item.answer)]
    if senses:
        yield Fault(view.field("question"), f"holds the answer {view.item.answer[0][0]}", tuple(senses))


@rule(
    "one-document-holds-all",
    "warning",
    "one document holds all parts: nothing needs integrating",
    fix="Remove the document, or shorten it to one part.",
    definitions=_BOTH,
)
def one_document_holds_all(view: View) -> Iterator[Fault]:
    """All slots are contained in one supporting document of an integration item."""
    answer = view.item.answer
    if kind_of(view.item) != "integration" or len(answer) == 1:
        return
    for index in view.pools["supports"]:
        senses = view.senses(index, lambda text: holds_answer(text, answer))
        if senses:
            yield view.fault(index, f"holds all {len(answer)} parts", senses)


def _slots_held(text: str, answer: Answer) -> int:
    return sum(holds_slot(text, aliases) for aliases in answer)


def _first_lacking(text: str, answer: Answer) -> str:
    return next(aliases[0] for aliases in answer if not holds_slot(text, aliases))


def _loose(text: str) -> str:
    return _DOTS.sub("", squeezed(text))

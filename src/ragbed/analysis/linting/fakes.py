"""Counterfactual items: a false answer that is false, in documents that were really edited."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.linting.boundaries import BOUNDARY
from ragbed.analysis.linting.rules import PLAIN, SPACELESS, Fault, View, quote_alias, rule
from ragbed.schema import Answer
from ragbed.text import all_stand_alone, holds_answer, plain, spaceless, squeezed

APART = "apart"
"""The gold still stands there when every mention of the false answer is taken out."""


@rule(
    "fake-equals-gold",
    "error",
    "the false answer is the true one",
    fix="Choose another false answer and edit the documents again.",
)
def fake_equals_gold(view: View) -> Iterator[Fault]:
    """Every slot of the gold has an alias that the false answer has too, white space and letter case aside."""
    if _is_equal(view.item.fake, view.item.answer):
        yield Fault(view.field("fake"), f"{view.item.answer[0][0]} is the true answer")


@rule(
    "fake-holds-gold",
    "error",
    "the false answer contains the true one: misled scores as correct",
    fix="Choose a false answer that does not contain the true one.",
    definitions=(PLAIN, BOUNDARY),
)
def fake_holds_gold(view: View) -> Iterator[Fault]:
    """As the original scorer matches; equal ones have a rule of their own."""
    gold, fake = view.item.answer, view.item.fake
    if fake is None or _is_equal(fake, gold):
        return
    for said in _replies(view, fake):
        if holds_answer(said, gold):
            senses = (PLAIN, BOUNDARY) if all_stand_alone(said, gold) else (PLAIN,)
            yield Fault(view.field("fake"), f"{said} contains the true answer {gold[0][0]}", senses)
            return


@rule(
    "gold-holds-fake",
    "warning",
    "the true answer contains the false one: correct looks misled",
    fix="Choose a false answer that is no part of the true one.",
)
def gold_holds_fake(view: View) -> Iterator[Fault]:
    """As the original scorer would match the false answer."""
    gold, fake = view.item.answer, view.item.fake
    if fake is None or _is_equal(fake, gold):
        return
    stripped = tuple(tuple(alias.strip() for alias in aliases) for aliases in fake)
    for said in _replies(view, gold):
        if holds_answer(said, stripped):
            yield Fault(view.field("fake"), f"{stripped[0][0]} is contained in the true answer {said}")
            return


@rule(
    "edit-unchanged",
    "error",
    "an edited document is identical to the true one",
    fix="Replace the answer in it, whatever its letter case, or drop the pair.",
)
def edit_unchanged(view: View) -> Iterator[Fault]:
    """The texts are equal, character by character."""
    passages = view.item.passages
    for index in view.pools["contradicts"]:
        original = passages[index].edit_of
        if original is not None and passages[original].text == passages[index].text:
            yield view.fault(index, f"is identical to {view.name(original)}")


@rule(
    "gold-in-edit",
    "error",
    "an edited document still holds the true answer",
    fix="Replace every mention of it, aliases and other letter case included.",
    definitions=(PLAIN, SPACELESS, APART),
)
def gold_in_edit(view: View) -> Iterator[Fault]:
    """All slots are contained; `apart`: also outside the false answer."""
    answer, fake = view.item.answer, view.item.fake or ()
    for index in view.pools["contradicts"]:
        senses = view.senses(index, lambda text: holds_answer(text, answer))
        if senses:
            text = view.folded[senses[-1]][index]
            if holds_answer(_without(text, fake), answer):
                senses += (APART,)
            yield view.fault(index, f"still holds the true answer: {quote_alias(text, answer[0])}", senses)


@rule(
    "edit-without-fake",
    "warning",
    "an edited document does not hold the false answer",
    fix="Put the false answer into it, or drop the pair.",
)
def edit_without_fake(view: View) -> Iterator[Fault]:
    """Some slot of the false answer is contained neither with nor without spaces."""
    stripped = tuple(tuple(alias.strip() for alias in aliases) for aliases in view.item.fake or ())
    for index in view.pools["contradicts"]:
        if not view.senses(index, lambda text: holds_answer(text, stripped)):
            yield view.fault(index, f"does not hold {stripped[0][0]}")


def _is_equal(fake: Answer | None, gold: Answer) -> bool:
    if fake is None:
        return False
    said = {squeezed(alias) for aliases in fake for alias in aliases}
    return all(any(squeezed(alias) in said for alias in aliases) for aliases in gold)


def _replies(view: View, answer: Answer) -> list[str]:
    """What a model that gives this answer would say, folded: each alias, or all parts together."""
    fold = spaceless if view.item.lang == "zh" else plain
    if len(answer) == 1:
        return [fold(alias.strip()) for alias in answer[0]]
    return [fold("\n".join(alias.strip() for aliases in answer for alias in aliases))]


def _without(text: str, fake: Answer) -> str:
    for aliases in fake:
        for alias in sorted(aliases, key=len, reverse=True):
            text = text.replace(alias.strip().lower(), "\0")
    return text

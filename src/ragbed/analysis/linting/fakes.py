"""Rules for counterfactual items: the false answer must be false, and the documents must be edited."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.linting.rules import BOUNDARY, PLAIN, SPACELESS, Fault, View, quote_alias, rule
from ragbed.schema import Answer
from ragbed.text import all_stand_alone, holds_answer, plain, spaceless, squeezed

APART = "apart"  # the gold answer still appears after every mention of the false answer is removed


@rule(
    "fake-equals-gold",
    "error",
    "the false answer is the same as the true answer",
    fix="Choose another false answer and edit the documents again.",
)
def fake_equals_gold(view: View) -> Iterator[Fault]:
    """Find false answers that share an alias with every gold slot, ignoring spacing and case."""
    if _is_equal(view.item.fake, view.item.answer):
        yield Fault(view.field("fake"), f"{view.item.answer[0][0]} is the true answer")


@rule(
    "fake-holds-gold",
    "error",
    "the false answer contains the true answer, so misled responses count as correct",
    fix="Choose a false answer that does not contain the true one.",
    definitions=(PLAIN, BOUNDARY),
)
def fake_holds_gold(view: View) -> Iterator[Fault]:
    """Find false answers that differ from the gold answer but that the original scorer would accept as correct."""
    gold, fake = view.item.answer, view.item.fake
    if fake is None or _is_equal(fake, gold):
        return
    for response in _responses(view, fake):
        if holds_answer(response, gold):
            definitions = (PLAIN, BOUNDARY) if all_stand_alone(response, gold) else (PLAIN,)
            yield Fault(view.field("fake"), f"{response} contains the true answer {gold[0][0]}", definitions)
            return


@rule(
    "gold-holds-fake",
    "warning",
    "the true answer contains the false answer, so correct responses look misled",
    fix="Choose a false answer that is not part of the true one.",
)
def gold_holds_fake(view: View) -> Iterator[Fault]:
    """Find gold answers in which the original scorer would find the false answer."""
    gold, fake = view.item.answer, _stripped(view.item.fake)
    if not fake or _is_equal(fake, gold):
        return
    for response in _responses(view, gold):
        if holds_answer(response, fake):
            yield Fault(view.field("fake"), f"{fake[0][0]} is contained in the true answer {response}")
            return


@rule(
    "edit-unchanged",
    "error",
    "an edited document is identical to the original",
    fix="Replace the answer in it, ignoring case, or remove the pair.",
)
def edit_unchanged(view: View) -> Iterator[Fault]:
    """Find edited documents that are identical to their originals."""
    passages = view.item.passages
    for index in view.pools["contradicts"]:
        original = passages[index].edit_of
        if original is not None and passages[original].text == passages[index].text:
            yield view.fault(index, f"is identical to {view.name(original)}")


@rule(
    "gold-in-edit",
    "error",
    "an edited document still contains the true answer",
    fix="Replace every mention of it, including aliases and different capitalisations.",
    definitions=(PLAIN, SPACELESS, APART),
)
def gold_in_edit(view: View) -> Iterator[Fault]:
    """Find edited documents that contain all gold slots (definition `apart`: not just inside the false answer)."""
    answer = view.item.answer
    for index in view.pools["contradicts"]:
        if definitions := view.matches(index, lambda text: holds_answer(text, answer)):
            text = view.folded[definitions[-1]][index]
            definitions += (APART,) if holds_answer(_remove(text, view.item.fake or ()), answer) else ()
            yield view.fault(index, f"still contains the true answer: {quote_alias(text, answer[0])}", definitions)


@rule(
    "edit-without-fake",
    "warning",
    "an edited document does not contain the false answer",
    fix="Add the false answer to it, or remove the pair.",
)
def edit_without_fake(view: View) -> Iterator[Fault]:
    """Find edited documents that lack a slot of the false answer, whether or not spaces are ignored."""
    fake = _stripped(view.item.fake)
    for index in view.pools["contradicts"]:
        if not view.matches(index, lambda text: holds_answer(text, fake)):
            yield view.fault(index, f"does not contain {fake[0][0]}")


def _stripped(answer: Answer | None) -> Answer:
    return tuple(tuple(alias.strip() for alias in aliases) for aliases in answer or ())


def _is_equal(fake: Answer | None, gold: Answer) -> bool:
    given = {squeezed(alias) for aliases in fake or () for alias in aliases}
    return all(any(squeezed(alias) in given for alias in aliases) for aliases in gold)


def _responses(view: View, answer: Answer) -> list[str]:
    """Return normalised responses that state an answer.

    There is one response per alias or, if the answer has several parts, a single response with all aliases.
    """
    fold = spaceless if view.item.lang == "zh" else plain
    if len(answer) == 1:
        return [fold(alias.strip()) for alias in answer[0]]
    return [fold("\n".join(alias.strip() for aliases in answer for alias in aliases))]


def _remove(text: str, fake: Answer) -> str:
    for aliases in fake:
        for alias in sorted(aliases, key=len, reverse=True):
            text = text.replace(alias.strip().lower(), "\0")
    return text

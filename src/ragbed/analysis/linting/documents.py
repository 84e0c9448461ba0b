"""Rules for documents: the answer in the wrong documents or missing from the right ones, and too few documents.

A document contains an answer if it contains an alias of each part as a whole term: not inside a longer number or word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragbed.analysis.linting.rules import DatasetContext, Fault, Find, View, dataset_rule, quote, rule
from ragbed.data import Dataset, kind_of
from ragbed.schema import Answer, Item
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.selection import choose_testbeds
from ragbed.text import term_pattern


@rule(
    "gold-in-negative",
    "warning",
    "a distractor contains the complete answer",
    fix="Label the document as supporting, or remove it.",
)
def gold_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain all parts of the answer."""
    for index in view.pools["distracts"]:
        if len(_held(view, index)) == len(view.item.answer):
            yield view.fault(index, f"contains the complete answer: {_show(view, index, view.item.answer[0])}")


@rule(
    "gold-part-in-negative",
    "warning",
    "a distractor contains a part of an answer with several parts",
    fix="Check whether it answers that part; if so, label it as supporting.",
)
def gold_part_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain at least one part of the answer, but not all."""
    for index in view.pools["distracts"] if len(view.item.answer) > 1 else ():
        held = _held(view, index)
        if 0 < len(held) < len(view.item.answer):
            yield view.fault(index, f"contains a part of the answer: {_show(view, index, held[0])}")


@rule(
    "positive-without-gold",
    "warning",
    "a supporting document does not contain the answer",
    fix="If it gives the answer in other words, add them as an alias; otherwise label the document as a distractor.",
)
def positive_without_gold(view: View) -> Iterator[Fault]:
    """Find supporting documents that lack a part of the answer; for integration items, all parts."""
    answer = view.item.answer
    needed = 1 if kind_of(view.item) == "integration" else len(answer)
    for index in view.pools["supports"]:
        held = _held(view, index)
        if len(held) < needed:
            missing = next(aliases for aliases in answer if aliases not in held)
            yield view.fault(index, f"does not contain {missing[0]}{_inside(view.lowered[index], missing)}")


@rule(
    "gold-in-edit",
    "warning",
    "an edited document still contains the true answer",
    fix="Replace every mention of it, including aliases and different capitalisations.",
)
def gold_in_edit(view: View) -> Iterator[Fault]:
    """Find edited documents that contain all parts of the true answer outside the false answer."""
    for index in view.pools["contradicts"]:
        text = _remove(view.lowered[index], view.item.fake or ())
        if all(view.contains(text, aliases) for aliases in view.item.answer):
            yield view.fault(index, f"still contains the true answer: {_show(view, index, view.item.answer[0])}")


@rule(
    "edit-without-fake",
    "warning",
    "an edited document does not contain the false answer",
    fix="Add the false answer to it, or remove the pair.",
)
def edit_without_fake(view: View) -> Iterator[Fault]:
    """Find edited documents that lack a part of the false answer."""
    for index in view.pools["contradicts"]:
        for aliases in view.item.fake or ():
            if not view.contains(view.lowered[index], aliases):
                yield view.fault(index, f"does not contain {aliases[0].strip()}")
                break


@rule(
    "slots-groups",
    "warning",
    "the number of answer parts differs from the number of document groups",
    fix="Provide one group of documents per part, or merge the parts that one group answers.",
)
def slots_groups(view: View) -> Iterator[Fault]:
    """Find integration items whose number of slots differs from the number of sub-questions with documents."""
    groups = len({view.item.passages[index].part for index in view.pools["supports"]} - {None})
    if groups and groups != len(view.item.answer):
        yield Fault("answer", f"has {len(view.item.answer)} parts, but {groups} groups of documents")


@dataset_rule(
    "mix",
    "warning",
    "the item cannot supply a requested mix of documents",
    fix="Add documents, use fewer documents per question, or choose other noise ratios.",
)
def mix(context: DatasetContext) -> Find:
    """Find the cases that are infeasible with the given settings."""
    abilities = [testbed for testbed in choose_testbeds(None, context.settings) if isinstance(testbed, Ability)]

    def find(view: View) -> Iterator[Fault]:
        single = _SingleItem(view.data, context.dataset.path, view.item)
        for ability in abilities:
            if ability.takes == kind_of(view.item):
                for case in ability.cases(single, context.settings):
                    if not case.feasible:
                        correct = f",correct={case.true_ratio:g}" if case.true_ratio else ""
                        yield Fault(f"{case.testbed}@noise={case.noise:g}{correct}", case.reason or "")

    return find


@dataclass(frozen=True)
class _SingleItem(Dataset):
    """A dataset with one item, used to check which document mixes are feasible for that item alone."""

    item: Item

    def items(self) -> Iterator[Item]:
        yield self.item


def _held(view: View, index: int) -> list[tuple[str, ...]]:
    return [aliases for aliases in view.item.answer if view.contains(view.lowered[index], aliases)]


def _show(view: View, index: int, aliases: tuple[str, ...]) -> str:
    """Return the first mention of an answer in a passage, with some context."""
    text = view.lowered[index]
    found = next(filter(None, (term_pattern(alias, view.item.lang).search(text) for alias in aliases)), None)
    return quote(text, *found.span()) if found else "‘’"


def _inside(text: str, aliases: tuple[str, ...]) -> str:
    """Describe the longer number or word in which an answer appears, if there is one."""
    for alias in aliases:
        at = text.find(alias.strip().lower())
        if at >= 0:
            return f"; {alias.strip()} appears only in {quote(text, at, at + len(alias.strip()))}"
    return ""


def _remove(text: str, fake: Answer) -> str:
    for aliases in fake:
        for alias in sorted(aliases, key=len, reverse=True):
            text = text.replace(alias.strip().lower(), "\0")
    return text

"""Rules for missing documents: no documents for a label, or too few for the answer or for a document mix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragbed.analysis.linting.rules import DatasetContext, Fault, Find, View, dataset_rule, rule
from ragbed.data import Dataset, kind_of
from ragbed.schema import Item, Stance
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.selection import choose_testbeds

_NEEDED: tuple[Stance, ...] = ("supports", "distracts")


@rule(
    "empty-pool",
    "warning",
    "the item has no document with a label that its testbeds require",
    fix="Add documents, or remove the item.",
    definitions=(*_NEEDED, "contradicts"),
)
def empty_pool(view: View) -> Iterator[Fault]:
    """Find items that lack supporting documents, distractors or, if there is a false answer, edited documents."""
    needed = (*_NEEDED, "contradicts") if view.item.fake is not None else _NEEDED
    for stance in needed:
        if not view.pools[stance]:
            yield Fault(view.pool(stance), f"has no document with the label {stance}", (stance,))


@rule(
    "slots-groups",
    "warning",
    "the number of answer parts differs from the number of document groups",
    fix="Provide one group of documents per part, or merge the parts that one group answers.",
)
def slots_groups(view: View) -> Iterator[Fault]:
    """Find integration items whose number of slots differs from the number of sub-questions with documents."""
    groups = len(view.groups)
    if groups and groups != len(view.item.answer):
        yield Fault("answer", f"has {len(view.item.answer)} parts, but {groups} groups of documents")


@dataset_rule(
    "mix",
    "warning",
    "the item cannot supply a requested mix of documents",
    fix="Add documents, use fewer documents per question, or choose other noise ratios.",
)
def mix(context: DatasetContext) -> Find:
    """Find the cases that `ragbed cases` would count as infeasible with the given settings."""
    abilities = [testbed for testbed in choose_testbeds(None, context.settings) if isinstance(testbed, Ability)]

    def find(view: View) -> Iterator[Fault]:
        single = _SingleItem(view.data, context.dataset.path, view.item)
        for ability in abilities:
            if ability.takes == kind_of(view.item):
                for case in ability.cases(single, context.settings):
                    if not case.feasible:
                        correct = f",correct={case.correct:g}" if case.correct else ""
                        condition = f"{case.testbed}@noise={case.noise:g}{correct}"
                        yield Fault(condition, case.reason or "", (condition,))

    return find


@dataclass(frozen=True)
class _SingleItem(Dataset):
    """A dataset with one item, used to check which document mixes are feasible for that item alone."""

    item: Item

    def items(self) -> Iterator[Item]:
        yield self.item

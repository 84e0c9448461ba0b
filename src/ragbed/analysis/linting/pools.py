"""Lists of documents that are empty, do not fit the answer, or are too short for what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragbed.analysis.linting.rules import Fault, Find, Survey, View, dataset_rule, rule
from ragbed.data import Dataset, kind_of
from ragbed.schema import Case, Item, Stance
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.selection import choose_testbeds

_NEEDED: tuple[Stance, ...] = ("supports", "distracts")


@rule(
    "empty-pool",
    "warning",
    "the item has no document of a stance that its testbeds need",
    fix="Add documents, or leave the item out.",
    definitions=(*_NEEDED, "contradicts"),
)
def empty_pool(view: View) -> Iterator[Fault]:
    """No supporting, no distracting, or, with a false answer, no edited document."""
    needed = (*_NEEDED, "contradicts") if view.item.fake is not None else _NEEDED
    for stance in needed:
        if not view.pools[stance]:
            yield Fault(view.pool(stance), f"has no document that {stance}", (stance,))


@rule(
    "slots-groups",
    "warning",
    "the answer has more or fewer parts than groups of documents",
    fix="Give one group of documents per part, or join parts that one group answers.",
)
def slots_groups(view: View) -> Iterator[Fault]:
    """Integration items: slots of the answer against sub-questions with documents."""
    groups = len(view.groups)
    if groups and groups != len(view.item.answer):
        yield Fault("answer", f"has {len(view.item.answer)} parts beside {groups} groups of documents")


@dataset_rule(
    "mix",
    "warning",
    "the item cannot supply an asked mix of documents",
    fix="Add documents, use fewer (--num-docs), or choose other ratios (--noise).",
)
def mix(survey: Survey) -> Find:
    """What `ragbed cases` calls infeasible with these settings: it is laid out to see."""
    settings = survey.settings
    abilities = [testbed for testbed in choose_testbeds(None, settings) if isinstance(testbed, Ability)]

    def find(view: View) -> Iterator[Fault]:
        alone = _Alone(view.data, survey.dataset.path, view.item)
        for ability in abilities:
            if ability.takes == kind_of(view.item):
                for case in ability.cases(alone, settings):
                    if not case.feasible:
                        asked = _condition(case)
                        yield Fault(asked, case.reason or "", (asked,))

    return find


@dataclass(frozen=True)
class _Alone(Dataset):
    """A dataset of one item: the mix that an item can supply does not hang on the others."""

    item: Item

    def items(self) -> Iterator[Item]:
        yield self.item


def _condition(case: Case) -> str:
    correct = f",correct={case.correct:g}" if case.correct else ""
    return f"{case.testbed}@noise={case.noise:g}{correct}"

"""What the four abilities have in common: items × conditions → cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from ragbed.datasets import Dataset, kind_of
from ragbed.schema import Case, Expectation, Item, Kind
from ragbed.testbeds.bank import Bank, Neighbours, with_neighbours
from ragbed.testbeds.order import order_item
from ragbed.testbeds.plan import ChooseOriginal, DrawEvidence, Plan, plan_original, plan_ours
from ragbed.testbeds.settings import Condition, Settings

_FIXED_LADDER = (0, 1, 2, 4, 9)
"""Distracting documents beside the one supporting in the `fixed` arm."""


@dataclass(frozen=True)
class Ability:
    """A testbed with documents."""

    name: str
    takes: Kind
    expect: Expectation
    noise: tuple[Fraction, ...]
    """The ratios asked when none are given."""
    draw: DrawEvidence
    choose_original: ChooseOriginal

    def allows(self, noise: Fraction, original: bool) -> bool:
        """Whether a ratio makes sense: all of it for rejection, else less; the original code takes 1 for more."""
        if self.expect == "refuse":
            return noise == 1
        return noise < 1 or (original and self.takes != "base")

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yields every item that this testbed takes, under every condition."""
        conditions = tuple(self._conditions(settings))
        for item, around, ordinal in self._items(dataset, settings, conditions):
            for condition, plan in self._plans(item, around, ordinal, conditions, settings):
                yield self._case(dataset.name, item, condition, plan, settings)

    def _plans(
        self, item: Item, around: Neighbours, ordinal: int, conditions: tuple[Condition, ...], settings: Settings
    ) -> Iterator[tuple[Condition, Plan]]:
        if settings.original is not None:
            for condition in conditions:
                yield condition, plan_original(item, condition, self.choose_original, settings.original)
            return
        ordered = order_item(item, settings.seed)
        bank = Bank(ordered, around)
        for condition in conditions:
            yield condition, plan_ours(ordered, bank, condition, self.draw, (ordinal, settings.seed))

    def _conditions(self, settings: Settings) -> Iterator[Condition]:
        ratios = self.noise if settings.noise is None else settings.noise
        ratios = tuple(noise for noise in ratios if self.allows(noise, settings.original is not None))
        shares = settings.correct if self.takes == "counterfactual" else (Fraction(0),)
        for arm in settings.arms:
            if arm == "fixed":
                asked = list(_fixed_conditions()) if self.name == "noise" else []
            else:
                asked = [Condition(noise, settings.docs, correct, arm) for correct in shares for noise in ratios]
            for condition in asked:
                yield from _rotations(condition) if settings.rotate else (condition,)

    def _items(
        self, dataset: Dataset, settings: Settings, conditions: tuple[Condition, ...]
    ) -> Iterator[tuple[Item, Neighbours, int]]:
        """The items with those around them and their ordinal, which counts within a language.

        Neither a limit nor a choice of languages changes an item's neighbours or ordinal, and so no case.
        """
        needs_others = any(condition.arm in ("random", "control") for condition in conditions)
        items = with_neighbours(dataset.items()) if needs_others else ((item, Neighbours()) for item in dataset.items())
        taken: Counter[str] = Counter()
        for item, around in islice(items, dataset.resolve_limit(settings.limit)):
            if kind_of(item) == self.takes:
                if item.lang in settings.langs:
                    yield item, around, taken[item.lang]
                taken[item.lang] += 1

    def _case(self, data: str, item: Item, condition: Condition, plan: Plan, settings: Settings) -> Case:
        feasible = plan.reason is None
        texts = [document.text for document in plan.documents]
        return Case(
            case=f"{data}/{item.id}/{self.name}@{condition.label},{settings.label}",
            data=data,
            item=item.id,
            lang=item.lang,
            testbed=self.name,
            question=item.question,
            noise=float(condition.noise),
            noise_real=plan.noise_real,
            k=condition.docs,
            correct=float(condition.correct),
            arm=condition.arm,
            profile=settings.profile,
            seed=settings.seed,
            feasible=feasible,
            documents=plan.documents,
            slots=plan.slots,
            messages=settings.instructions.messages(item.lang, item.question, texts) if feasible else (),
            answer=item.answer,
            fake=item.fake,
            expect="answer" if self.expect == "correct" and _are_all_true(condition) else self.expect,
            rotation=condition.rotation,
            reason=plan.reason,
        )


def _are_all_true(condition: Condition) -> bool:
    """Counterfactual's control: no document is wrong, so there is no error to flag."""
    return condition.correct > 0 and condition.noise + condition.correct == 1


def _fixed_conditions() -> Iterator[Condition]:
    """One supporting document and ever more distracting ones; beside each, as much text about other things."""
    for count in _FIXED_LADDER:
        noise = Fraction(count, count + 1)
        yield Condition(noise, count + 1, arm="fixed")
        if count:
            yield Condition(noise, count + 1, arm="control")


def _rotations(condition: Condition) -> Iterator[Condition]:
    for rotation in range(condition.docs):
        yield Condition(condition.noise, condition.docs, condition.correct, condition.arm, rotation)

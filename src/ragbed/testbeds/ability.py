"""What the four abilities have in common: items × conditions → cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from ragbed.data import Dataset, kind_of
from ragbed.schema import Case, Document, Expectation, Item, Kind, ScoreName
from ragbed.testbeds.document_bank import DocumentBank, NearbyItems, with_neighbours
from ragbed.testbeds.document_order import PositionTurns, order_item
from ragbed.testbeds.document_plan import ChooseOriginal, DocumentPlan, DrawEvidence, plan_original, plan_ours
from ragbed.testbeds.names import name_case
from ragbed.testbeds.settings import CaseCondition, Settings
from ragbed.testbeds.supply import Supply, fit_conditions

_FIXED_LADDER = (0, 1, 2, 4, 9)
"""Distracting documents beside the one supporting in the `fixed` arm."""
_LOOKED_AT = 1_000
"""Items from which the default conditions of a dataset follow."""


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
    headline: ScoreName = "correct"
    secondary: tuple[ScoreName, ...] = ()

    def allows(self, noise: Fraction, original: bool) -> bool:
        """Whether a ratio makes sense: all of it for rejection, else less; the original code takes 1 for more."""
        if self.expect == "refuse":
            return noise == 1
        return noise < 1 or (original and self.takes != "base")

    def conditions(self, settings: Settings) -> tuple[CaseCondition, ...]:
        """All ways in which an item is asked."""
        return _rotate(self._unrotated(settings), settings)

    def conditions_for(self, dataset: Dataset, settings: Settings) -> tuple[CaseCondition, ...]:
        """The same for a dataset: defaults that most of its items cannot supply are replaced by some that they can."""
        usual = self._unrotated(settings)
        if not settings.fits_defaults or not usual:
            return _rotate(usual, settings)
        items = islice(dataset.items(), dataset.resolve_limit(settings.limit))
        own = (item for item in items if kind_of(item) == self.takes and item.lang in settings.langs)
        return _rotate(fit_conditions(usual, [self._supply(item) for item in islice(own, _LOOKED_AT)]), settings)

    def _unrotated(self, settings: Settings) -> list[CaseCondition]:
        ratios = self.noise if settings.noise is None else settings.noise
        ratios = tuple(noise for noise in ratios if self.allows(noise, settings.original is not None))
        shares = settings.correct if self.takes == "counterfactual" else (Fraction(0),)
        asked: list[CaseCondition] = []
        for arm in settings.arms:
            if arm == "fixed":
                asked += _fixed_conditions() if self.name == "noise" else ()
            else:
                asked += [CaseCondition(noise, settings.docs, correct, arm) for correct in shares for noise in ratios]
        return asked

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yields every item that this testbed takes, under every condition."""
        return (case for _, case in self.laid_out(dataset, settings))

    def laid_out(self, dataset: Dataset, settings: Settings) -> Iterator[tuple[Item, Case]]:
        """The cases, each with the item that it is made of."""
        conditions = self.conditions_for(dataset, settings)
        for item, around, turns in self._items(dataset, settings, conditions):
            for condition, plan in self._plans(item, around, turns, conditions, settings):
                yield item, self._case(dataset.name, item, condition, plan, settings)

    def _items(
        self, dataset: Dataset, settings: Settings, conditions: tuple[CaseCondition, ...]
    ) -> Iterator[tuple[Item, NearbyItems, dict[int, int]]]:
        """The items with those around them and their turns, by number of documents.

        Neither a limit nor a choice of languages changes an item's neighbours or turns, and so no case. An item
        that follows its twin has those of the twin, so that nothing but the dial differs between the two.
        """
        needs_others = any(condition.arm in ("random", "control") for condition in conditions)
        items = (
            with_neighbours(dataset.items()) if needs_others else ((item, NearbyItems()) for item in dataset.items())
        )
        turns, sizes = PositionTurns(settings.seed), sorted({condition.docs for condition in conditions})
        before: tuple[str, NearbyItems, dict[int, int]] = ("", NearbyItems(), {})
        for item, near in islice(items, dataset.resolve_limit(settings.limit)):
            if kind_of(item) == self.takes:
                _, around, taken = before
                if item.twin != before[0]:
                    supply = self._supply(item)
                    around, taken = near, {docs: turns.take(item.lang, docs, supply.mixes(docs)) for docs in sizes}
                before = (item.id, around, taken)
                if item.lang in settings.langs:
                    yield item, around, taken

    def _supply(self, item: Item) -> Supply:
        stances = [passage.stance for passage in item.passages]
        distracting = stances.count("distracts")
        if self.expect == "refuse":
            return Supply(0, 0, distracting)
        parts = {passage.part for passage in item.passages if passage.stance == "supports"}
        bearing = stances.count("contradicts" if self.takes == "counterfactual" else "supports")
        return Supply(bearing, max(1, len(parts)), distracting)

    def _plans(
        self,
        item: Item,
        around: NearbyItems,
        turns: dict[int, int],
        conditions: tuple[CaseCondition, ...],
        settings: Settings,
    ) -> Iterator[tuple[CaseCondition, DocumentPlan]]:
        if settings.original is not None:
            for condition in conditions:
                yield condition, plan_original(item, condition, self.choose_original, settings.original)
            return
        ordered = order_item(item, settings.seed)
        bank = DocumentBank(ordered, around)
        for condition in conditions:
            yield condition, plan_ours(ordered, bank, condition, self.draw, turns[condition.docs])

    def _case(self, data: str, item: Item, condition: CaseCondition, plan: DocumentPlan, settings: Settings) -> Case:
        feasible = plan.reason is None
        texts = [document.text for document in plan.documents]
        return Case(
            case=name_case(data, item.id, self.name, f"{condition.label},{settings.label}"),
            data=data,
            item=item.id,
            lang=item.lang,
            testbed=self.name,
            question=item.question,
            noise=float(condition.noise),
            noise_real=plan.noise_real if feasible else self._nearest(item, condition),
            k=condition.docs,
            correct=float(condition.correct),
            arm=condition.arm,
            profile=settings.way,
            seed=settings.seed,
            feasible=feasible,
            documents=plan.documents,
            slots=plan.slots,
            messages=settings.instructions.messages(item.lang, item.question, texts) if feasible else (),
            answer=item.answer,
            fake=item.fake,
            expect=self._expected(plan.documents),
            rotation=condition.rotation,
            event=item.event,
            dial=item.dial,
            twin=item.twin,
            reason=plan.reason,
        )

    def _nearest(self, item: Item, condition: CaseCondition) -> float | None:
        """The share of distracting documents, nearest to the one asked for, that the item could supply."""
        supply = self._supply(item)
        if condition.arm in ("random", "control"):
            supply = supply._replace(distracting=condition.docs)
        mixes, all_there_are = supply.mixes(condition.docs), supply.bearing + supply.distracting
        if mixes:
            return min(mixes, key=lambda count: abs(count - condition.distracting)) / condition.docs
        return supply.distracting / all_there_are if 0 < all_there_are < condition.docs else None

    def _expected(self, documents: tuple[Document, ...]) -> Expectation:
        """What the testbed expects; where counterfactual documents were asked for and none is false, no flag."""
        if self.expect != "correct" or not documents:
            return self.expect
        stances = {document.stance for document in documents}
        return "correct" if "contradicts" in stances else "answer" if "supports" in stances else "refuse"


def _fixed_conditions() -> Iterator[CaseCondition]:
    """One supporting document and ever more distracting ones; beside each, as much text about other things."""
    for count in _FIXED_LADDER:
        noise = Fraction(count, count + 1)
        yield CaseCondition(noise, count + 1, arm="fixed")
        if count:
            yield CaseCondition(noise, count + 1, arm="control")


def _rotate(conditions: Sequence[CaseCondition], settings: Settings) -> tuple[CaseCondition, ...]:
    return tuple(
        replace(condition, rotation=rotation)
        for condition in conditions
        for rotation in range(condition.docs if settings.rotate else 1)
    )

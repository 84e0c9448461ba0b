"""Testbeds that provide documents; they generate one case per item and condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from math import ceil
from typing import NamedTuple

from msgspec import Struct, structs

from ragbed.data import Dataset
from ragbed.schema import Case, Document, Expectation, Item, Kind, ScoreName
from ragbed.testbeds.cases import make_case
from ragbed.testbeds.document_bank import DocumentBank, NearbyItems, with_neighbours
from ragbed.testbeds.document_order import PositionTurns, order_item
from ragbed.testbeds.document_plan import ChooseOriginal, DocumentPlan, DrawEvidence, plan_original, plan_ours
from ragbed.testbeds.settings import DEFAULT_DOCS, Arm, CaseCondition, Settings

_FIXED_DISTRACTORS = (0, 1, 2, 4, 9)  # numbers of distractors added to one supporting document, for distractors=fixed
_MAX_SAMPLED = 1_000  # maximum number of items used to choose a dataset's default conditions

# Keep the default conditions if at least half of them are feasible for at least this share of items. For RGB's en_fact,
# the share is 0.38.
_MIN_FEASIBLE_DEFAULT = 0.25
_MIN_FEASIBLE_REPLACEMENT = 0.5
_REPLACEMENT_DISTRACTORS = (0, 1, 2, 4)  # numbers of distractors in replacement conditions


class Supply(NamedTuple):
    """The numbers of documents, by type, that an item provides for a testbed."""

    bearing: int  # number of documents that contain an answer
    fewest: int  # minimum number of documents per case that must contain an answer
    distracting: int

    def mixes(self, docs: int) -> range:
        """Return the possible numbers of distractors among the given number of documents."""
        return range(max(0, docs - self.bearing), min(self.distracting, docs - self.fewest) + 1)


class Ability(Struct, frozen=True):
    """A testbed that gives the model documents.

    `noise` contains the default noise ratios and `docs` the default numbers of documents; `draw` and `choose_original`
    select the documents. See `PositionTurns` for `spreads_positions`.
    """

    name: str
    takes: Kind
    expect: Expectation
    noise: tuple[Fraction, ...]
    draw: DrawEvidence
    choose_original: ChooseOriginal
    headline: ScoreName
    secondary: tuple[ScoreName, ...] = ()
    docs: tuple[int, ...] = (DEFAULT_DOCS,)
    spreads_positions: bool = False

    def allows(self, noise: Fraction, original: bool) -> bool:
        """Return whether the testbed accepts a noise ratio: `rejection` requires 1, other testbeds a ratio below 1.

        The original code also accepts 1 for integration and counterfactual items.
        """
        return noise == 1 if self.expect == "refuse" else noise < 1 or (original and self.takes != "base")

    @property
    def accepted_noise(self) -> str:
        """A description of the noise ratios that the testbed accepts."""
        return "only the ratio 1" if self.expect == "refuse" else "ratios below 1"

    def conditions(self, settings: Settings) -> tuple[CaseCondition, ...]:
        """Return all conditions that the testbed evaluates."""
        conditions = settings.replaced.get(self.name) or self.requested(settings)
        return tuple(
            structs.replace(condition, rotation=rotation)
            for condition in conditions
            for rotation in range(condition.docs if settings.all_positions else 1)
        )

    def requested(self, settings: Settings) -> list[CaseCondition]:
        """Return the conditions given by the settings, without permuting the positions of the documents."""
        mixes = [(noise, docs) for docs in settings.num_docs or self.docs for noise in self._ratios(settings, docs)]
        shares = settings.correct if self.takes == "counterfactual" else (Fraction(0),)
        conditions: list[CaseCondition] = []
        for arm in settings.distractors:
            if arm != "fixed":
                conditions += [CaseCondition(noise, docs, correct, arm) for correct in shares for noise, docs in mixes]
            elif self.name == "noise":
                conditions += _fixed_conditions()
        return conditions

    def _ratios(self, settings: Settings, docs: int) -> list[Fraction]:
        """Return the requested noise ratios for a number of documents, omitting any that the testbed rejects."""
        ratios = self.noise if settings.noise is None else settings.noise
        if settings.supporting is not None:
            ratios = (Fraction(docs - settings.supporting, docs),) if settings.supporting <= docs else ()
        return [noise for noise in ratios if self.allows(noise, settings.original is not None)]

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield a case for every condition and every item of the kind that the testbed uses."""
        conditions = self.conditions(settings)
        for item, around, turns in self._items(dataset, settings, conditions):
            ordered = order_item(item, settings.seed)
            bank = DocumentBank(ordered, around)
            for condition in conditions:
                if settings.original is None:
                    plan = plan_ours(ordered, bank, condition, self.draw, turns[condition.docs])
                else:
                    plan = plan_original(item, condition, self.choose_original, settings.original)
                yield self.build_case(dataset.name, item, condition, plan, settings)

    def _items(
        self, dataset: Dataset, settings: Settings, conditions: tuple[CaseCondition, ...]
    ) -> Iterator[tuple[Item, NearbyItems, dict[int, int]]]:
        """Yield each item with its neighbours and, for each number of documents, the rotation of its documents.

        An item's neighbours and rotations do not depend on the limit or the languages, so neither do its cases. The
        second item of a minimal pair has the same neighbours and rotations as the first, so that they differ only in
        the perturbation.
        """
        needs_others = any(condition.arm in ("random", "control") for condition in conditions)
        items = (
            with_neighbours(dataset.items()) if needs_others else ((item, NearbyItems()) for item in dataset.items())
        )
        turns = PositionTurns(settings.seed, is_spread=self.spreads_positions)
        sizes = sorted({condition.docs for condition in conditions})
        before: tuple[str, NearbyItems, dict[int, int]] = ("", NearbyItems(), {})
        for read, near in islice(items, dataset.resolve_limit(settings.limit)):
            item = dataset.as_kind(read, self.takes)
            if item is not None:
                _, around, taken = before
                if item.twin != before[0]:
                    supply = self.supply(item)
                    around, taken = near, {docs: turns.take(item.lang, docs, supply.mixes(docs)) for docs in sizes}
                before = (item.id, around, taken)
                if item.lang in settings.langs:
                    yield item, around, taken

    def supply(self, item: Item) -> Supply:
        """Count an item's documents by type."""
        stances = [passage.stance for passage in item.passages]
        distracting = stances.count("distracts")
        if self.expect == "refuse":
            return Supply(0, 0, distracting)
        parts = {passage.part for passage in item.passages if passage.stance == "supports"}
        bearing = stances.count("contradicts" if self.takes == "counterfactual" else "supports")
        return Supply(bearing, max(1, len(parts)), distracting)

    def build_case(
        self, data: str, item: Item, condition: CaseCondition, plan: DocumentPlan, settings: Settings
    ) -> Case:
        """Return an item's case with the planned documents."""
        feasible = plan.reason is None
        texts = [document.text for document in plan.documents]
        return make_case(
            data,
            item,
            settings,
            self.name,
            condition.label,
            settings.instructions.messages(item.lang, item.question, texts) if feasible else (),
            noise=float(condition.noise),
            noise_real=plan.noise_real if feasible else self._nearest(item, condition),
            k=condition.docs,
            true_ratio=float(condition.correct),
            arm=condition.arm,
            feasible=feasible,
            documents=plan.documents,
            slots=plan.slots,
            expect=self._expected(plan.documents),
            rotation=condition.rotation,
            reason=plan.reason,
        )

    def fit(self, default: Sequence[CaseCondition], supplies: Sequence[Supply]) -> list[CaseCondition]:
        """Return the default conditions, or replacements if most of them are infeasible for most items."""
        share = partial(feasible_share, supplies=supplies)
        if not supplies or 2 * sum(share(one) >= _MIN_FEASIBLE_DEFAULT for one in default) >= len(default):
            return list(default)
        if len({condition.noise for condition in default}) == 1:  # keep the same noise ratio with fewer documents
            numbers = range(default[0].docs, 0, -1)
            fitting = (
                docs for docs in numbers if share(structs.replace(default[0], docs=docs)) >= _MIN_FEASIBLE_REPLACEMENT
            )
            found = [structs.replace(one, docs=docs) for docs in islice(fitting, 1) for one in default]
        else:
            evidence = sorted(supply.fewest for supply in supplies)[(len(supplies) - 1) // 2]  # the lower median
            arm: Arm = "fixed" if evidence == 1 else "related"
            more = (
                CaseCondition(Fraction(count, evidence + count), evidence + count, default[0].correct, arm)
                for count in _REPLACEMENT_DISTRACTORS
            )
            found = [one for one in more if share(one) >= _MIN_FEASIBLE_REPLACEMENT]
        return found or list(default)

    def _nearest(self, item: Item, condition: CaseCondition) -> float | None:
        supply = self.supply(item)
        if condition.arm in ("random", "control"):
            supply = supply._replace(distracting=condition.docs)
        mixes, available = supply.mixes(condition.docs), supply.bearing + supply.distracting
        if mixes:
            nearest = ceil(condition.distracting - Fraction(1, 2))  # the smaller of two equally near numbers
            return min(max(nearest, mixes[0]), mixes[-1]) / condition.docs
        return supply.distracting / available if 0 < available < condition.docs else None

    def _expected(self, documents: tuple[Document, ...]) -> Expectation:
        """Return the expected behaviour: a counterfactual case requires a correction only if it has false documents."""
        if self.expect != "correct" or not documents:
            return self.expect
        stances = {document.stance for document in documents}
        return "correct" if "contradicts" in stances else "answer" if "supports" in stances else "refuse"


def fit_defaults(dataset: Dataset, abilities: Sequence[Ability], settings: Settings) -> tuple[Settings, list[Ability]]:
    """Replace default conditions that are infeasible for most of a dataset's items.

    Returns:
        The settings for the dataset, and the testbeds for which it has no items, as far as this is known.
    """
    if not settings.fits_defaults:
        return settings, []
    supplies: dict[str, list[Supply]] = {ability.name: [] for ability in abilities}
    for item in islice(dataset.items(), dataset.resolve_limit(settings.limit)):
        for ability in abilities if item.lang in settings.langs else ():
            own = dataset.as_kind(item, ability.takes)
            if own is not None and len(supplies[ability.name]) < _MAX_SAMPLED:
                supplies[ability.name].append(ability.supply(own))
    fitted = {one.name: one.fit(one.requested(settings), supplies[one.name]) for one in abilities}
    changed = {one.name: tuple(fitted[one.name]) for one in abilities if fitted[one.name] != one.requested(settings)}
    return replace(settings, replaced=changed), [one for one in abilities if not supplies[one.name]]


def feasible_share(condition: CaseCondition, supplies: Sequence[Supply]) -> float:
    """Return the share of items that have enough documents for a condition."""
    return sum(condition.distracting in supply.mixes(condition.docs) for supply in supplies) / len(supplies)


def _fixed_conditions() -> Iterator[CaseCondition]:
    """Yield conditions with one supporting document and increasing numbers of distractors.

    Each condition with distractors is followed by a control that has unrelated documents instead.
    """
    for count in _FIXED_DISTRACTORS:
        noise = Fraction(count, count + 1)
        yield CaseCondition(noise, count + 1, arm="fixed")
        if count:
            yield CaseCondition(noise, count + 1, arm="control")

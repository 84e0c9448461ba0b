"""The conditions for `--until`, which determine when a monitored run may stop.

Every condition uses intervals that are valid at any stopping time, so it may be checked after every question. To
add a condition, write a class here and add a line to `parse_conditions`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from ragbed.analysis.cell_selection import (
    SELECTOR,
    CellSelector,
    check_planned,
    describe_cell,
    parse_selector,
    select_cells,
)
from ragbed.analysis.comparison import (
    ComparedCondition,
    Side,
    describe,
    hash_scores,
    name_condition,
    open_side,
    pair_scores,
    read_scores,
)
from ragbed.analysis.gates import Floor
from ragbed.analysis.metrics import measure_table
from ragbed.analysis.metrics.cells import Cell, full_place, interval_of
from ragbed.analysis.statistics.paired import changes
from ragbed.analysis.statistics.planning import POWER, paired_size, unpaired_size
from ragbed.analysis.statistics.rates import ALPHA, Interval, quantile, two_sided
from ragbed.analysis.statistics.sequential import difference_sequence, minimum_size
from ragbed.analysis.stopping_plan import Plan, PlannedClusters
from ragbed.analysis.trials.columns import Numbering, TrialColumns, group_trials, read_part
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError, option
from ragbed.runs.decided import COMPARISON, Conclusion, DecidedInterval
from ragbed.runs.store import open_store
from ragbed.testbeds.prompts.strategies import MARK

# A condition is inconclusive if it is still undecided after EXCESS times as many questions as a fixed plan needs.
EXCESS = 1.3
_BASE = 0.6  # accuracy that `ragbed.power` assumes for unpaired designs
_DISTANCE = 0.05  # difference from a gate's minimum that a fixed plan is designed to detect
_WIDTH = re.compile(SELECTOR + r"\s*(?:±|\+-|\+/-)\s*(?P<points>\d+(?:\.\d+)?)\s*%?")
_DROP = re.compile(r"compare:(?P<run>.+):\s*drop\s+(?P<points>\d+(?:\.\d+)?)\s*%?")
_FORMS = (
    'use "TESTBED.METRIC[@NOISE][:LANG] ± POINTS", "compare:RUN:drop POINTS%", or decided, e.g. '
    '"noise.accuracy@0.8 ± 10"'
)


class Look(NamedTuple):
    """The state of a condition for one cell or comparison of a model, based on the questions evaluated so far."""

    key: object
    name: str
    questions: int
    interval: Interval
    conclusion: str  # the conclusion in words; empty if undecided
    limit: float  # number of questions after which the condition is inconclusive
    decided: DecidedInterval  # the outcome to store

    def describe(self) -> str:
        """Describe the confidence interval and the number of questions so far."""
        value, low, high = (f"{100 * bound:.1f}" for bound in self.interval)
        unit, after = " points" if self.interval.low < 0 else " %", "after 1 question"
        if self.questions != 1:
            after = f"after {self.questions:,} questions"
        return f"{value} [{low}, {high}]{unit} {after}"


@dataclass(frozen=True)
class Evidence:
    """One model's trials so far.

    Attributes:
        table: The run's table.
        calls: The trials to use, as model number, case number and repeat.
        largest: The maximum number of planned trials per cluster and condition.
    """

    table: TrialTable
    calls: Container[tuple[int, int, int]]
    largest: int

    @cached_property
    def groups(self) -> Sequence[TrialColumns]:
        """The trials by dataset, language and profile."""
        shared = Numbering()
        return group_trials([read_part(self.table, shared, calls=self.calls)], shared, self.largest)


class Condition(ABC):
    """A condition for `--until`."""

    text: str

    @abstractmethod
    def check(self, plan: Plan) -> list[object]:
        """Return the keys of all cells or comparisons that must be decided for each model.

        Raises:
            UsageError: The planned cases cannot decide the condition.
        """

    @abstractmethod
    def look(self, evidence: Evidence) -> Iterator[Look]:
        """Yield the state of each cell or comparison that has trials."""

    def need(self, size: int, where: str, is_enough: Callable[[int], bool]) -> None:
        """Raise an error if even the best possible results cannot decide the condition."""
        needed = minimum_size(is_enough)
        if needed is None or size < needed:
            count = "more than 10,000,000" if needed is None else f"at least {needed:,}"
            raise UsageError(
                f"{option('until', self.text)}: this condition requires {count} independent questions, but the run has "
                f"{size:,} "
                f"({where}; questions about the same event count as one). Add more questions or, if the condition is a "
                "drop or a half-width, use a larger value in percentage points. No model was called."
            )


@dataclass
class Width(Condition):
    """A condition that is met when a metric's confidence interval extends at most `width` to each side of its value."""

    text: str
    selector: CellSelector
    width: float

    def check(self, plan: Plan) -> list[object]:
        """Raise an error if a metric has no confidence interval or if a target width cannot be reached."""
        selected = _planned(self, self.selector, plan.planned.cells(ALPHA))
        for cell in selected:
            if cell.estimate.low is None:
                raise UsageError(
                    f"{option('until', self.text)}: {self.selector.metric} has no confidence sequence, so it cannot be "
                    "a stopping "
                    "condition. Use a rate or a difference, e.g. accuracy or change. No model was called."
                )
            clusters = plan.clusters(cell)
            fits = partial(_fits, self.width, clusters, is_difference=cell.estimate.low < 0)
            self.need(clusters.total, _where(cell), fits)
        return [_key(cell) for cell in selected]

    def look(self, evidence: Evidence) -> Iterator[Look]:
        """Compare the half-width of each selected confidence interval with `width`."""
        limit = EXCESS * unpaired_size(_BASE, min(self.width, _BASE))
        for cell in _cells(self.selector, evidence, ALPHA):
            interval = interval_of(cell.estimate)
            is_decided = _half_width(interval) <= self.width
            conclusion = f"within ± {100 * self.width:g} points" if is_decided else ""
            decided = _outcome(self.text, cell, "narrow" if is_decided else "", ALPHA)
            yield _look(self.selector, cell, conclusion, limit, decided)


@dataclass
class Gates(Condition):
    """A condition that is met when every `--fail-under` gate has passed or failed."""

    text: str
    floors: Sequence[Floor]
    _alpha: float = ALPHA

    def check(self, plan: Plan) -> list[object]:
        """Check that each gate's outcome can be decided, and split the error probability among all gates and models."""
        cells = plan.planned.cells(ALPHA)
        selected = [(floor, cell) for floor in self.floors for cell in _planned(self, floor, cells)]
        self._alpha = ALPHA / max(1, len(selected) * plan.models)
        for floor, cell in selected:
            where, clusters = f"{floor.table}.{floor.metric}, {_where(cell)}", plan.clusters(cell)
            self.need(clusters.total, where, partial(_decides, floor.minimum, self._alpha, clusters))
        return [(floor.text, _key(cell)) for floor, cell in selected]

    def look(self, evidence: Evidence) -> Iterator[Look]:
        """Compare the confidence intervals that each gate selects with the gate's minimum rate."""
        for floor in self.floors:
            limit = EXCESS * _floor_size(floor.minimum)
            for cell in _cells(floor, evidence, self._alpha):
                interval = interval_of(cell.estimate)
                below, above = interval.high < floor.minimum, interval.low >= floor.minimum
                minimum = f"the minimum of {100 * floor.minimum:g}%"
                conclusion = f"below {minimum}" if below else f"not below {minimum}" if above else ""
                code: Conclusion = "below" if below else "not-below" if above else ""
                gate = f"{self.text}: {floor.text.removeprefix('fail_under=')}"
                look = _look(floor, cell, conclusion, limit, _outcome(gate, cell, code, self._alpha))
                yield look._replace(key=(floor.text, look.key))


@dataclass
class Drop(Condition):
    """A condition that is met when every comparison shows a decline from the baseline or rules out a decline."""

    text: str
    base: Side
    min_drop: float
    _alpha: float = ALPHA
    _hashes: dict[ComparedCondition, str] = field(default_factory=dict)

    def check(self, plan: Plan) -> list[object]:
        """Raise an error if the baseline and the run share too few questions or none at all."""
        sizes = {condition: plan.count_compared(condition, scores) for condition, scores in self.base.scores.items()}
        compared = {condition: size for condition, size in sizes.items() if size}
        if not compared:
            raise UsageError(
                f"{option('until', self.text)}: {self.base.run} and this run have no questions in common. Compare runs "
                "with "
                "the same data, testbeds and noise ratios. No model was called."
            )
        self._alpha = ALPHA / (len(compared) * plan.models)
        self._hashes = {condition: hash_scores(self.base.scores[condition]) for condition in compared}
        for condition, size in compared.items():
            self.need(
                size,
                f"{', '.join(describe(condition)[:3])}, in both runs",
                lambda n: difference_sequence([0.0], [n], self._alpha).low > -self.min_drop,
            )
        return list(compared)

    def look(self, evidence: Evidence) -> Iterator[Look]:
        """Compare the scores on the questions answered so far with the baseline."""
        found = read_scores(evidence.table, "robust", evidence.calls).values()
        for condition, scores in (pair for model in found for pair in model.means().items()):
            before, after = pair_scores(self.base.scores.get(condition, {}), scores)
            if not before:
                continue
            moved = changes(before, after)
            interval = difference_sequence(moved, alpha=self._alpha)
            conclusion, code = self._conclude(interval)
            discordance = min(1.0, max(2 * self.min_drop, float(abs(moved).mean())))
            limit = EXCESS * paired_size(min(self.min_drop, discordance), discordance)
            name = f"difference in {name_condition(condition)}"
            decided = DecidedInterval(
                COMPARISON, "difference", {**condition._asdict()}, interval.low, interval.high, self._alpha,
                base=self._hashes[condition], condition=self.text, conclusion=code,
            )  # fmt: skip
            yield Look(condition, name, len(moved), interval, conclusion, limit, decided)

    def _conclude(self, interval: Interval) -> tuple[str, Conclusion]:
        if interval.high < 0:
            return f"worse than {self.base.run}", "worse"
        if interval.low > -self.min_drop:
            return f"a drop of {100 * self.min_drop:g} points is ruled out", "no-drop"
        return "", ""


def parse_conditions(texts: Sequence[str], floors: Sequence[Floor]) -> list[Condition]:
    """Parse the values of `--until`.

    Args:
        texts: The option's values.
        floors: The run's gates, for `decided`.

    Raises:
        UsageError: A value has a different form or an unknown name, or a baseline is not a run.
    """
    return [_parse(" ".join(text.split()), floors) for text in texts]


def _parse(text: str, floors: Sequence[Floor]) -> Condition:
    if text == "decided":
        if not floors:
            raise UsageError(f"{option('until', 'decided')} requires at least one gate. Set {option('fail_under')}.")
        return Gates(text, floors)
    if match := _DROP.fullmatch(text):
        drop = float(match["points"]) / 100
        if not 0 < drop <= 1:
            raise UsageError(
                f"{option('until', text)}: the drop must be greater than 0 and at most 100 percentage points."
            )
        return Drop(text, open_side(match["run"], "robust"), drop)
    match = _WIDTH.fullmatch(text)
    if match is None:
        raise UsageError(f"{option('until', text)}: {_FORMS}.")
    try:
        selector = parse_selector(option("until", text), match)
    except ValueError:
        raise UsageError(f"{option('until', text)}: {_FORMS}.") from None
    width = float(match["points"]) / 100
    if not 0 < width < 1:
        raise UsageError(f"{option('until', text)}: the half-width must be between 0 and 100 percentage points.")
    return Width(text, selector, width)


def check_data(conditions: Sequence[Condition], settings: dict[str, str]) -> None:
    """Check that baselines use the same data as a run with these settings.

    Raises:
        UsageError: A baseline uses a different dataset.
    """
    ours = {name: value for name, value in settings.items() if name.startswith("data ")}
    for condition in conditions:
        if isinstance(condition, Drop):
            with open_store(condition.base.run, create=False) as store:
                theirs = {name: value for name, value in store.settings().items() if name.startswith("data ")}
            if not ours.items() & theirs.items():
                named = [", ".join(name.removeprefix("data ") for name in names) for names in (theirs, ours)]
                raise UsageError(
                    f"{option('until', condition.text)}: {condition.base.run} uses {named[0]}, but this run uses "
                    f"{named[1]}. Compare runs on the same dataset. No model was called."
                )


def _planned(condition: Condition, selector: CellSelector, cells: Sequence[Cell]) -> list[Cell]:
    found = check_planned(selector, cells)
    if not found:
        raise UsageError(
            f"{option('until', condition.text)}: {selector.table} depends on the documents that a system retrieves, so "
            "the "
            "required number of questions cannot be computed in advance. Use another testbed. No model was called."
        )
    return found


def _cells(selector: CellSelector, evidence: Evidence, alpha: float) -> Sequence[Cell]:
    cells = [
        cell
        for trials in evidence.groups
        if MARK not in trials.key.profile
        for cell in measure_table(selector.table, trials, alpha)
    ]
    try:
        return [cell for cell in select_cells(selector, cells) if cell.estimate.low is not None]
    except UsageError:  # there are no trials for this cell yet
        return []


def _look(selector: CellSelector, cell: Cell, conclusion: str, limit: float, decided: DecidedInterval) -> Look:
    name = f"{selector.table}.{selector.metric} of {describe_cell(cell)}"
    return Look(_key(cell), name, cell.estimate.questions, interval_of(cell.estimate), conclusion, limit, decided)


def _outcome(condition: str, cell: Cell, conclusion: Conclusion, alpha: float) -> DecidedInterval:
    interval, metric = interval_of(cell.estimate), cell.estimate.metric
    return DecidedInterval(
        cell.table, metric, full_place(cell), interval.low, interval.high, alpha, condition=condition,
        conclusion=conclusion,
    )  # fmt: skip


def _key(cell: Cell) -> object:
    return cell.key[1:], cell.estimate.metric, tuple(sorted(cell.place.items()))


def _where(cell: Cell) -> str:
    return describe_cell(cell).removeprefix(" on ")


def _fits(width: float, clusters: PlannedClusters, n: int, *, is_difference: bool) -> bool:
    """Return whether n questions with equal scores give an interval that extends at most `width` to each side."""
    interval = difference_sequence([0.0], [n]) if is_difference else clusters.rate(1, n, ALPHA)
    return _half_width(interval) <= width


def _half_width(interval: Interval) -> float:
    """Return the distance from an estimate to its farther confidence bound; intervals near 0 or 1 are asymmetric."""
    return max(interval.high - interval.value, interval.value - interval.low)


def _decides(minimum: float, alpha: float, clusters: PlannedClusters, n: int) -> bool:
    """Return whether n questions with equal scores are enough to decide whether a gate passes."""
    return clusters.rate(0, n, alpha).high < minimum or clusters.rate(1, n, alpha).low >= minimum


def _floor_size(minimum: float) -> int:
    """Return the number of questions a fixed-sample test needs to detect a rate 5 percentage points below a minimum."""
    low = max(0.0, minimum - _DISTANCE)
    reach = two_sided(1 - ALPHA) * math.sqrt(minimum * (1 - minimum)) + quantile(POWER) * math.sqrt(low * (1 - low))
    return max(1, math.ceil((reach / _DISTANCE) ** 2))

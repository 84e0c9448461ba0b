"""Monitor a run, and stop it once every `--until` condition has been decided.

The conditions use intervals that are valid at any stopping time, so they may be checked after every question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from msgspec import structs

from ragbed.analysis.gates import (
    SELECTOR,
    CellSelector,
    Floor,
    PlannedCells,
    check_planned,
    describe_cell,
    parse_selector,
    select_cells,
)
from ragbed.analysis.metrics import measure_table
from ragbed.analysis.metrics.cells import Cell, full_place, interval_of
from ragbed.analysis.statistics.planning import POWER, rate_size
from ragbed.analysis.statistics.rates import ALPHA, Interval, quantile, two_sided
from ragbed.analysis.trials.columns import Numbering, TrialColumns, group_trials, read_part
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError, option
from ragbed.runs.call_order import order_calls
from ragbed.runs.condition import ClusterSizes
from ragbed.runs.decided import Conclusion, DecidedInterval, DecisionState, LastInterval
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds.prompts.strategies import MARK

# A condition is inconclusive if it is still undecided after EXCESS times as many questions as a fixed plan needs.
EXCESS = 1.3
_DISTANCE = 0.05  # difference from a gate's minimum that a fixed plan is designed to detect
_FIRST_LOOK = 5  # minimum number of questions before the first check; fewer questions cannot decide any condition
_STEP = 1.02  # minimum factor by which the number of questions grows between two checks
_WIDTH = re.compile(SELECTOR + r"\s*(?:±|\+-|\+/-)\s*(?P<number>\d+(?:\.\d+)?)\s*%?")
_FORM = 'use "TESTBED.METRIC[@CONDITION][:LANG] ± POINTS" or decided, e.g. "noise.accuracy@0.8 ± 10"'
_NOT_CALLED = "No model was called."


# Conditions


class Look(NamedTuple):
    """The state of a condition for one cell of a model, based on the questions evaluated so far."""

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
        unit = " points" if self.interval.low < 0 else " %"
        after = "1 question" if self.questions == 1 else f"{self.questions:,} questions"
        return f"{value} [{low}, {high}]{unit} after {after}"


@dataclass(frozen=True)
class _Target:
    """A metric and what its interval must show.

    Attributes:
        text: The condition or gate, as it is stored with the decision.
        limit: Number of questions after which the target is inconclusive.
        conclude: Returns the conclusion from an interval, as a code and in words; empty if it is undecided.
    """

    selector: CellSelector
    text: str
    limit: float
    conclude: Callable[[Interval], tuple[Conclusion, str]]


@dataclass
class StoppingCondition:
    """A condition on the confidence intervals of metrics: a maximum width, or the minimum rates of all gates.

    `is_width` is set for a width. The error probability of gates is divided among all gates and models.
    """

    text: str
    targets: Sequence[_Target]
    is_width: bool
    _alpha: float = ALPHA

    def check(self, cells: Sequence[Cell], models: int) -> list[object]:
        """Return the keys of all cells that must be decided for each model.

        Args:
            cells: The cells that the run will measure.
            models: Number of models.

        Raises:
            UsageError: A metric has no confidence sequence, or no planned case measures it.
        """
        selected: list[tuple[_Target, Cell]] = []
        for target in self.targets:
            found = check_planned(target.selector, cells)
            if not found:
                raise UsageError(
                    f"{option('until', self.text)}: {target.selector.table} depends on the documents that a system "
                    "retrieves, so the required number of questions cannot be computed in advance. Use another "
                    f"testbed. {_NOT_CALLED}"
                )
            selected += [(target, cell) for cell in found]
        if not self.is_width:
            self._alpha = ALPHA / max(1, len(selected) * models)
        for target, cell in selected:
            if self.is_width and cell.estimate.low is None:
                raise UsageError(
                    f"{option('until', self.text)}: {target.selector.metric} has no confidence sequence, so it cannot "
                    f"be a stopping condition. Use a rate or a difference, e.g. accuracy or change. {_NOT_CALLED}"
                )
        return [_key(target, cell) for target, cell in selected]

    def look(self, groups: Sequence[TrialColumns]) -> Iterator[Look]:
        """Yield what the interval of each selected cell shows."""
        for target in self.targets:
            for cell in _cells(target.selector, groups, self._alpha):
                interval, metric = interval_of(cell.estimate), cell.estimate.metric
                code, words = target.conclude(interval)
                decided = DecidedInterval(
                    cell.table, metric, full_place(cell), interval.low, interval.high, self._alpha,
                    condition=target.text, conclusion=code,
                )  # fmt: skip
                name = f"{cell.table}.{metric} of {describe_cell(cell)}"
                yield Look(_key(target, cell), name, cell.estimate.questions, interval, words, target.limit, decided)


def _key(target: _Target, cell: Cell) -> object:
    return target.selector.text, cell.key[1:], cell.estimate.metric, tuple(sorted(cell.place.items()))


def _cells(selector: CellSelector, groups: Sequence[TrialColumns], alpha: float) -> Sequence[Cell]:
    cells = [
        cell
        for group in groups
        if MARK not in group.key.profile
        for cell in measure_table(selector.table, group, alpha)
    ]
    try:
        return [cell for cell in select_cells(selector, cells) if cell.estimate.low is not None]
    except UsageError:  # there are no trials for this cell yet
        return []


def _width(text: str, selector: CellSelector, width: float) -> StoppingCondition:
    """Return a condition that is met when an interval extends at most `width` to each side of its value."""

    def conclude(interval: Interval) -> tuple[Conclusion, str]:
        # Intervals near 0 and 1 are asymmetric, so the farther bound counts.
        reach = max(interval.high - interval.value, interval.value - interval.low)
        return ("narrow", f"within ± {100 * width:g} points") if reach <= width else ("", "")

    # A fixed plan detects a difference of this size between two rates of about one half.
    limit = EXCESS * (two_sided(1 - ALPHA) + quantile(POWER)) ** 2 / (2 * width**2)
    return StoppingCondition(text, [_Target(selector, text, limit, conclude)], is_width=True)


def _gates(text: str, floors: Sequence[Floor]) -> StoppingCondition:
    """Return a condition that is met when every `--fail-under` gate has passed or failed."""

    def target(floor: Floor) -> _Target:
        minimum = f"the minimum of {100 * floor.minimum:g}%"

        def conclude(interval: Interval) -> tuple[Conclusion, str]:
            if interval.high < floor.minimum:
                return "below", f"below {minimum}"
            return ("not-below", f"not below {minimum}") if interval.low >= floor.minimum else ("", "")

        size = rate_size(floor.minimum, max(0.0, floor.minimum - _DISTANCE), 1 - ALPHA / 2)
        return _Target(floor, f"{text}: {floor.text}", EXCESS * size, conclude)

    return StoppingCondition(text, [target(floor) for floor in floors], is_width=False)


def parse_conditions(texts: Sequence[str], floors: Sequence[Floor]) -> list[StoppingCondition]:
    """Parse the values of `--until`.

    Args:
        texts: The option's values.
        floors: The run's gates, for `decided`.

    Raises:
        UsageError: A value has a different form or an unknown name.
    """
    return [_parse(" ".join(text.split()), floors) for text in texts]


def _parse(text: str, floors: Sequence[Floor]) -> StoppingCondition:
    if text == "decided":
        if not floors:
            raise UsageError(f"{option('until', 'decided')} requires at least one gate. Set {option('fail_under')}.")
        return _gates(text, floors)
    selector, points = parse_selector("until", text, _WIDTH.fullmatch(text), _FORM)
    if not 0 < points < 100:
        raise UsageError(f"{option('until', text)}: the half-width must be between 0 and 100 percentage points.")
    return _width(text, selector, points / 100)


# Monitoring


class Decision(NamedTuple):
    """The outcome of one condition for one model."""

    condition: str
    model: str
    name: str
    state: DecisionState
    message: str


class MonitoringRule:
    """Stops evaluating a model once every condition is either decided for that model or inconclusive.

    Results are used in the order of evaluation, which does not depend on the responses. A response that arrives early
    is held until all earlier ones have arrived. A failed call leaves its question open until a rerun repeats the call.

    Args:
        conditions: The conditions.
        repeats: Number of responses per case.
        models: Number of models.
    """

    def __init__(self, conditions: Sequence[StoppingCondition], repeats: int, models: int) -> None:
        self._conditions, self._repeats, self._model_count = conditions, repeats, models
        self._planned, self._sizes = PlannedCells(repeats), ClusterSizes()
        self._expected: list[list[object]] | None = None
        self._models: dict[str, _ModelMonitor] = {}
        self._table: TrialTable | None = None

    def check(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases of a plan. After the last one, check that there are enough cases to decide every condition.

        Raises:
            UsageError: A condition cannot be decided.
        """
        for case in cases:
            self._planned.add(case)
            self._sizes.add(case)
            yield case
        cells = self._planned.cells(ALPHA)
        self._expected = [condition.check(cells, self._model_count) for condition in self._conditions]

    def begin(self, store: RunStore, model: int) -> None:
        """Start monitoring a model, beginning with its stored results (see `StoppingRule`)."""
        if self._expected is None:
            for _ in self.check(store.cases()):
                pass
        if self._table is None:
            self._table = TrialTable(store.path.parent, current=True)
        name, largest = store.models()[model][0], self._sizes.largest(self._repeats)
        expected = [(at, key) for at, keys in enumerate(self._expected or []) for key in keys]
        order = order_calls(store.connection, self._repeats, by_question=True)
        self._models[name] = _ModelMonitor(name, model, self._conditions, expected, order, self._table, largest)
        self._models[name].add_stored()

    def take(self, result: StoredResult) -> None:
        """Process a stored result, and check the conditions whenever a question is complete (see `StoppingRule`)."""
        if result.model in self._models and result.completion.outcome != "error":
            self._models[result.model].add(result.number, result.repeat)

    def is_over(self, model: str) -> bool:
        """Return whether every condition is either decided for a model or inconclusive (see `StoppingRule`)."""
        return self._models[model].is_over()

    def decided(self) -> list[DecidedInterval]:
        """Return the outcomes of all conditions that have been measured (see `StoppingRule`)."""
        self.decisions()
        return [outcome for monitor in self._models.values() for outcome in monitor.decided()]

    def decisions(self) -> list[Decision]:
        """Return the outcomes of all conditions. Open conditions are inconclusive, because there are no cases left."""
        return [decision for monitor in self._models.values() for decision in monitor.decisions()]


@dataclass
class _ModelMonitor:
    """One model's calls in the order of evaluation, and the conditions that their trials decide."""

    model: str
    number: int
    conditions: Sequence[StoppingCondition]
    expected: Sequence[tuple[int, object]]  # number of the condition and key of the cell
    order: list[tuple[int, int]]  # case number and repeat
    table: TrialTable
    largest: int
    _at: int = 0
    _waiting: set[tuple[int, int]] = field(default_factory=set)
    _used: set[tuple[int, int, int]] = field(default_factory=set)
    _questions: int = 0
    _last: object = None
    _next_look: float = _FIRST_LOOK
    _looks: dict[tuple[int, object], Look] = field(default_factory=dict)  # the decisive look, or the latest one
    _ended: dict[tuple[int, object], Decision] = field(default_factory=dict)

    @cached_property
    def _question_of(self) -> dict[int, tuple[str, str, str]]:
        """The question or event of each case, by case number."""
        return self.table.questions()

    def add_stored(self) -> None:
        """Add the results of earlier sessions."""
        self.table.update()
        for number, repeat in self.table.finished(self.number):
            self.add(number, repeat)

    def add(self, number: int, repeat: int) -> None:
        """Add a result that is stored, then use all waiting results whose turn has come."""
        self._waiting.add((number, repeat))
        while self._at < len(self.order) and (call := self.order[self._at]) in self._waiting:
            self._waiting.discard(call)
            self._at += 1
            question = self._question_of[call[0]]
            if question != self._last:  # the previous question is complete
                self._last = question
                if self._questions >= self._next_look:
                    self._look()
                self._questions += 1
            self._used.add((self.number, *call))

    def _measure(self) -> Iterator[tuple[tuple[int, object], Look]]:
        """Yield the state of every condition after the trials so far."""
        if self._used:
            self.table.update()
            shared = Numbering()
            groups = group_trials([read_part(self.table, shared, calls=self._used)], shared, self.largest)
            for number, condition in enumerate(self.conditions):
                for look in condition.look(groups):
                    yield (number, look.key), look

    def _look(self) -> None:
        """Check all open conditions."""
        self._next_look = max(self._questions + 1, self._questions * _STEP)
        for key, look in () if self.is_over() else self._measure():
            if key in self._ended or key not in self.expected:
                continue
            self._looks[key] = look
            if look.conclusion:
                self._ended[key] = self._decision(key, "decided", look.conclusion)
            elif look.questions >= look.limit:
                reason = f"this is {EXCESS} times the number of questions in a fixed plan ({look.limit / EXCESS:,.0f})"
                self._ended[key] = self._decision(key, "inconclusive", reason)

    def _decision(self, key: tuple[int, object], state: DecisionState, reason: str) -> Decision:
        condition, look = self.conditions[key[0]].text, self._looks.get(key)
        if look is None:
            return Decision(condition, self.model, condition, state, "no case measured this")
        return Decision(condition, self.model, look.name, state, f"{look.describe()}: {reason}")

    def is_over(self) -> bool:
        """Return whether every condition is decided or inconclusive."""
        return all(key in self._ended for key in self.expected)

    def decided(self) -> Iterator[DecidedInterval]:
        """Yield the outcome of every condition that has been measured, with its confidence interval over all trials."""
        last = {key: LastInterval(*look.interval, look.questions) for key, look in self._measure()}
        for key, look in self._looks.items():
            ended = self._ended.get(key)
            yield structs.replace(
                look.decided,
                model=self.model,
                state="inconclusive" if ended is None else ended.state,
                questions=look.questions,
                last=last.get(key),
                scorer=SCORER_VERSION,
            )

    def decisions(self) -> Iterator[Decision]:
        """Yield the outcome of every condition after all trials."""
        self._questions = max(self._questions, 1)
        self._look()
        why = "the run has no more questions"
        if self._waiting:
            why = "a call failed, and all later questions are waiting for it; rerun the same command to repeat it"
        for key in self.expected:
            yield self._ended.get(key) or self._decision(key, "inconclusive", why)

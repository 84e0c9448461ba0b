"""Monitor a run, and stop it once every `--until` condition has been decided.

The conditions use intervals that are valid at any stopping time, so they may be checked after every question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ragbed.analysis.gates import (
    SELECTOR,
    CellSelector,
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
from ragbed.analysis.trials.columns import load_groups
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError, option
from ragbed.runs.call_order import order_calls
from ragbed.runs.decided import Conclusion, DecidedInterval, DecisionState, LastInterval
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds.prompts.strategies import MARK
from ragbed.text import counted

# A condition is inconclusive if it is still undecided after EXCESS times as many questions as a fixed plan needs.
EXCESS = 1.3
_DISTANCE = 0.05  # difference from a gate's minimum that a fixed plan is designed to detect
_FIRST_LOOK = 5  # minimum number of questions before the first check; fewer questions cannot decide any condition
_STEP = 1.02  # minimum factor by which the number of questions grows between two checks
_WIDTH = re.compile(SELECTOR + r"\s*(?:±|\+-|\+/-)\s*(?P<number>\d+(?:\.\d+)?)\s*%?")
_FORM = 'use "TESTBED.METRIC[@CONDITION][:LANG] ± POINTS" or decided, e.g. "noise.accuracy@0.8 ± 10"'
_NOT_CALLED = "No model was called."


@dataclass(frozen=True)
class Target:
    """What the confidence intervals of a metric must show: that they are narrow, or on which side of a gate they are.

    Attributes:
        condition: The stopping condition, as the user wrote it.
        selector: The metric, with the maximum width or the gate's bound.
    """

    condition: str
    selector: CellSelector

    @property
    def is_gate(self) -> bool:
        """Whether the intervals must be on one side of the bound of a gate."""
        return self.selector.parameter == "fail_under"

    @property
    def text(self) -> str:
        """The condition or gate, as it is stored with the decision."""
        return f"{self.condition}: {self.selector.text}" if self.is_gate else self.condition

    @cached_property
    def fixed_size(self) -> float:
        """The number of questions in a fixed plan."""
        bound = self.selector.bound
        if self.is_gate:
            bound = 1 - bound if self.selector.is_maximum else bound  # as for the complement
            return rate_size(bound, max(0.0, bound - _DISTANCE), 1 - ALPHA / 2)
        # The plan detects a difference of this size between two rates of about one half.
        return (two_sided(1 - ALPHA) + quantile(POWER)) ** 2 / (2 * bound**2)

    def conclude(self, interval: Interval) -> tuple[Conclusion, str]:
        """Return the conclusion from an interval, as a code and in words; empty if it is undecided."""
        value, low, high = interval
        bound = self.selector.bound
        if not self.is_gate:
            # Intervals near 0 and 1 are asymmetric, so the farther bound counts.
            is_narrow = max(high - value, value - low) <= bound
            return ("narrow", f"within ± {100 * bound:g} points") if is_narrow else ("", "")
        side: Conclusion = "below" if high < bound else "not-below" if low >= bound else ""
        limit = "maximum" if self.selector.is_maximum else "minimum"
        return side, f"{side.replace('-', ' ')} the {limit} of {100 * bound:g}%" if side else ""


def parse_conditions(texts: Sequence[str], floors: Sequence[CellSelector]) -> list[Target]:
    """Parse the values of `--until`.

    Args:
        texts: The option's values.
        floors: The run's gates, for `decided`.

    Raises:
        UsageError: A value has a different form or an unknown name.
    """
    return [target for text in texts for target in _parse(" ".join(text.split()), floors)]


def _parse(text: str, floors: Sequence[CellSelector]) -> list[Target]:
    if text == "decided":
        if not floors:
            raise UsageError(f"{option('until', 'decided')} requires at least one gate. Set {option('fail_under')}.")
        return [Target(text, floor) for floor in floors]
    selector = parse_selector("until", text, _WIDTH.fullmatch(text), _FORM)
    if not 0 < selector.bound < 100:
        raise UsageError(f"{option('until', text)}: the half-width must be between 0 and 100 percentage points.")
    return [Target(text, replace(selector, bound=selector.bound / 100))]


_Key: TypeAlias = tuple[object, ...]  # a target, and a cell regardless of its model


def _key(target: Target, cell: Cell) -> _Key:
    return target.text, cell.key[1:], cell.estimate.metric, tuple(sorted(cell.place.items()))


class Look(NamedTuple):
    """A cell of a model that a target selects, based on the questions evaluated so far."""

    target: Target
    cell: Cell
    alpha: float  # error probability of its interval

    @property
    def name(self) -> str:
        """The metric and what distinguishes the cell from the metric's other cells."""
        return f"{self.cell.table}.{self.cell.estimate.metric} of {describe_cell(self.cell)}"

    def describe(self) -> str:
        """Describe the confidence interval and the number of questions so far."""
        interval, questions = interval_of(self.cell.estimate), self.cell.estimate.questions
        value, low, high = (f"{100 * bound:.1f}" for bound in interval)
        unit = " points" if interval.low < 0 else " %"
        return f"{value} [{low}, {high}]{unit} after {counted(questions, 'question')}"


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
        targets: What the intervals must show.
        repeats: Number of responses per case.
        models: Number of models.
    """

    def __init__(self, targets: Sequence[Target], repeats: int, models: int) -> None:
        self._targets, self._repeats, self._model_count = targets, repeats, models
        self._planned = PlannedCells(repeats)
        self._expected: dict[_Key, Target] = {}
        self._models: dict[str, _ModelMonitor] = {}
        self._table: TrialTable | None = None

    def check(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases of a plan. After the last one, check that there are enough cases to decide every condition.

        Raises:
            UsageError: A metric has no confidence sequence, or no planned case measures it.
        """
        for case in cases:
            self._planned.add(case)
            yield case
        cells = self._planned.cells(is_monitored=True)
        for target in self._targets:
            condition, found = option("until", target.condition), check_planned(target.selector, cells)
            if not found:
                raise UsageError(
                    f"{condition}: {target.selector.table} depends on the documents that a system retrieves, so the "
                    f"required number of questions cannot be computed in advance. Use another testbed. {_NOT_CALLED}"
                )
            if not target.is_gate and any(cell.estimate.low is None for cell in found):
                raise UsageError(
                    f"{condition}: {target.selector.metric} has no confidence sequence, so it cannot be a stopping "
                    f"condition. Use a rate or a difference, e.g. accuracy or change. {_NOT_CALLED}"
                )
            self._expected |= {_key(target, cell): target for cell in found}

    def begin(self, store: RunStore, model: int) -> None:
        """Start monitoring a model, beginning with its stored results (see `StoppingRule`)."""
        if not self._expected:
            for _ in self.check(store.cases()):
                pass
        if self._table is None:
            self._table = TrialTable(store.path.parent, current=True)
        name, order = store.models()[model][0], order_calls(store.connection, self._repeats, by_question=True)
        gate_alpha = ALPHA / max(1, self._model_count * sum(target.is_gate for target in self._expected.values()))
        self._models[name] = _ModelMonitor(name, model, self._targets, self._expected, gate_alpha, order, self._table)
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
    targets: Sequence[Target]
    expected: Mapping[_Key, Target]
    gate_alpha: float  # error probability of the intervals for gates, divided among all gates and models
    order: list[tuple[int, int]]  # case number and repeat
    table: TrialTable
    _at: int = 0
    _waiting: set[tuple[int, int]] = field(default_factory=set)
    _used: set[tuple[int, int, int]] = field(default_factory=set)
    _questions: int = 0
    _last: object = None
    _next_look: float = _FIRST_LOOK
    _looks: dict[_Key, Look] = field(default_factory=dict)  # the decisive look, or the latest one
    _ended: dict[_Key, Decision] = field(default_factory=dict)

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

    def _measure(self) -> dict[_Key, Look]:
        """Return the cells of all targets after the trials so far."""
        found: dict[_Key, Look] = {}
        if self._used:
            self.table.update()
            plain = [one for one in load_groups([self.table], calls=self._used) if MARK not in one.key.profile]
            for target in self.targets:
                alpha = self.gate_alpha if target.is_gate else ALPHA
                cells = [cell for group in plain for cell in measure_table(target.selector.table, group, alpha)]
                with suppress(UsageError):  # there are no trials for this target yet
                    selected = select_cells(target.selector, cells)
                    found |= {
                        _key(target, cell): Look(target, cell, alpha)
                        for cell in selected
                        if cell.estimate.low is not None
                    }
        return found

    def _look(self) -> None:
        """Check all open conditions."""
        self._next_look = max(self._questions + 1, self._questions * _STEP)
        for key, look in {} if self.is_over() else self._measure().items():
            if key in self._ended or key not in self.expected:
                continue
            self._looks[key] = look
            _, conclusion = look.target.conclude(interval_of(look.cell.estimate))
            if conclusion:
                self._ended[key] = self._decision(key, "decided", conclusion)
            elif look.cell.estimate.questions >= EXCESS * look.target.fixed_size:
                reason = (
                    f"this is {EXCESS} times the number of questions in a fixed plan ({look.target.fixed_size:,.0f})"
                )
                self._ended[key] = self._decision(key, "inconclusive", reason)

    def _decision(self, key: _Key, state: DecisionState, reason: str) -> Decision:
        condition, look = self.expected[key].condition, self._looks.get(key)
        if look is None:
            return Decision(condition, self.model, condition, state, "no case measured this")
        return Decision(condition, self.model, look.name, state, f"{look.describe()}: {reason}")

    def is_over(self) -> bool:
        """Return whether every condition is decided or inconclusive."""
        return all(key in self._ended for key in self.expected)

    def decided(self) -> Iterator[DecidedInterval]:
        """Yield the outcome of every condition that has been measured, with its confidence interval over all trials."""
        last = self._measure()
        for key, (target, cell, alpha) in self._looks.items():
            interval, after = interval_of(cell.estimate), last.get(key)
            yield DecidedInterval(
                cell.table,
                cell.estimate.metric,
                full_place(cell),
                interval.low,
                interval.high,
                alpha,
                model=self.model,
                condition=target.text,
                state=self._ended[key].state if key in self._ended else "inconclusive",
                conclusion=target.conclude(interval)[0],
                questions=cell.estimate.questions,
                last=after and LastInterval(*interval_of(after.cell.estimate), after.cell.estimate.questions),
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

"""Monitor a run, and stop it once every `--until` condition has been met or ruled out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from msgspec import structs

from ragbed.analysis.stopping_conditions import EXCESS, Condition, Evidence, Look
from ragbed.analysis.stopping_plan import Plan
from ragbed.analysis.trials.table import TrialTable
from ragbed.runs.decided import DecidedInterval, DecisionState, LastInterval
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case
from ragbed.scoring.version import SCORER_VERSION

_FIRST_LOOK = 5  # minimum number of questions before the first check; fewer questions cannot decide any condition
_STEP = 1.02  # minimum factor by which the number of questions grows between two checks


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

    def __init__(self, conditions: Sequence[Condition], repeats: int, models: int) -> None:
        self._conditions, self._plan = conditions, Plan(repeats, models)
        self._expected: list[list[object]] | None = None
        self._models: dict[str, _ModelMonitor] = {}
        self._table: TrialTable | None = None

    def check(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases of a plan. After the last one, check that there are enough cases to decide every condition.

        Raises:
            UsageError: A condition cannot be decided.
        """
        for case in cases:
            self._plan.add(case)
            yield case
        self._expected = [condition.check(self._plan) for condition in self._conditions]

    def begin(self, store: RunStore, model: int) -> None:
        """Start monitoring a model, beginning with its stored results (see `StoppingRule`)."""
        if self._expected is None:
            for _ in self.check(store.cases()):
                pass
        if self._table is None:
            self._table = TrialTable(store.path.parent, current=True)
        name, largest = store.models()[model][0], self._plan.sizes.largest(self._plan.repeats)
        order = list(store.question_order(model))
        monitor = _ModelMonitor(name, model, self._conditions, self._expected or [], order, self._table, largest)
        self._models[name] = monitor
        monitor.add_stored()

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
    conditions: Sequence[Condition]
    expected: Sequence[list[object]]
    order: list[tuple[int, int]]  # case number and repeat
    table: TrialTable
    largest: int
    _at: int = 0
    _waiting: set[tuple[int, int]] = field(default_factory=set)
    _used: set[tuple[int, int, int]] = field(default_factory=set)
    _questions: int = 0
    _last: object = None
    _next_look: float = _FIRST_LOOK
    _open: dict[tuple[int, object], Look] = field(default_factory=dict)
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
                    self.look()
                self._questions += 1
            self._used.add((self.number, *call))

    def _evidence(self) -> Evidence:
        self.table.update()
        return Evidence(self.table, self._used, self.largest)

    def look(self) -> None:
        """Check all open conditions."""
        self._next_look = max(self._questions + 1, self._questions * _STEP)
        if self.is_over() or not self._used:
            return
        evidence = self._evidence()
        for number, condition in enumerate(self.conditions):
            if self._is_open(number):
                for look in condition.look(evidence):
                    self._note(number, condition, look)

    def _note(self, number: int, condition: Condition, look: Look) -> None:
        key = (number, look.key)
        if key in self._ended or look.key not in self.expected[number]:
            return
        self._open[key] = look
        if look.conclusion:
            self._ended[key] = self._decision(condition, look, "decided", look.conclusion)
        elif look.questions >= look.limit:
            reason = f"this is {EXCESS} times the number of questions in a fixed plan ({look.limit / EXCESS:,.0f})"
            self._ended[key] = self._decision(condition, look, "inconclusive", reason)

    def _decision(self, condition: Condition, look: Look, state: DecisionState, reason: str) -> Decision:
        return Decision(condition.text, self.model, look.name, state, f"{look.describe()}: {reason}")

    def _is_open(self, number: int) -> bool:
        return any((number, key) not in self._ended for key in self.expected[number])

    def is_over(self) -> bool:
        """Return whether every condition is decided or inconclusive."""
        return not any(map(self._is_open, range(len(self.conditions))))

    def decided(self) -> Iterator[DecidedInterval]:
        """Yield the outcome of every condition that has been measured, with its confidence interval over all trials."""
        last = self._last_intervals()
        for key, look in self._open.items():
            ended = self._ended.get(key)
            yield structs.replace(
                look.decided,
                model=self.model,
                state="inconclusive" if ended is None else ended.state,
                questions=look.questions,
                last=last.get(key),
                scorer=SCORER_VERSION,
            )

    def _last_intervals(self) -> dict[tuple[int, object], LastInterval]:
        if not self._used:
            return {}
        evidence = self._evidence()
        return {
            (number, look.key): LastInterval(*look.interval, look.questions)
            for number, condition in enumerate(self.conditions)
            for look in condition.look(evidence)
        }

    def decisions(self) -> Iterator[Decision]:
        self._questions = max(self._questions, 1)
        self.look()
        for number, condition in enumerate(self.conditions):
            for key in self.expected[number]:
                if (number, key) in self._ended:
                    yield self._ended[number, key]
                elif (number, key) in self._open:
                    look = self._open[number, key]
                    yield self._decision(condition, look, "inconclusive", self._why_open())
                else:
                    yield Decision(condition.text, self.model, condition.text, "inconclusive", "no case measured this")

    def _why_open(self) -> str:
        if self._waiting:
            return "a call failed, and all later questions are waiting for it; rerun the same command to repeat it"
        return "the run has no more questions"

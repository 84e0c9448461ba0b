"""Monitor a run, and stop it once every `--until` condition has been met or ruled out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import structs

from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.metrics.trial_columns import TrialGroups
from ragbed.analysis.run_cells import to_trial
from ragbed.analysis.stopping_conditions import EXCESS, Condition, Evidence, Look
from ragbed.analysis.stopping_plan import Plan
from ragbed.runs.decided import DecidedInterval, DecisionState, LastInterval
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case
from ragbed.scoring import open_tracks
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
        self._score = open_tracks(["robust"])

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
        name = store.models()[model][0]
        order, groups = list(store.question_order(model)), TrialGroups(self._plan.sizes.largest(self._plan.repeats))
        monitor = _ModelMonitor(name, self._conditions, self._expected or [], order, groups)
        self._models[name] = monitor
        for result in store.results():
            if result.model == name:
                self.take(result)

    def take(self, result: StoredResult) -> None:
        """Process a stored result, and check the conditions whenever a question is complete (see `StoppingRule`)."""
        if result.model in self._models and result.completion.outcome != "error":
            self._models[result.model].add(result.case, to_trial(result, self._score, result.model))

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
    """One model's trials in the order of evaluation, and the conditions that they decide."""

    model: str
    conditions: Sequence[Condition]
    expected: Sequence[list[object]]
    order: list[tuple[str, int]]
    groups: TrialGroups
    _at: int = 0
    _waiting: dict[tuple[str, int], tuple[Case, Scored]] = field(default_factory=dict)
    _trials: list[tuple[Case, Scored]] = field(default_factory=list)
    _questions: int = 0
    _last: object = None
    _next_look: float = _FIRST_LOOK
    _open: dict[tuple[int, object], Look] = field(default_factory=dict)
    _ended: dict[tuple[int, object], Decision] = field(default_factory=dict)

    def add(self, case: Case, trial: Scored) -> None:
        """Add a trial, then process all waiting trials whose turn has come."""
        if self._at == len(self.order):
            return
        self._waiting[case.case, trial.repeat] = (case, trial)
        while self._at < len(self.order) and (found := self._waiting.pop(self.order[self._at], None)) is not None:
            self._at += 1
            question = (found[0].data, found[0].lang, found[0].event or found[0].item)
            if question != self._last:  # the previous question is complete
                self._last = question
                if self._questions >= self._next_look:
                    self.look()
                self._questions += 1
            self._trials.append(found)
            self.groups.add(found[1])

    def look(self) -> None:
        """Check all open conditions."""
        self._next_look = max(self._questions + 1, self._questions * _STEP)
        if self.is_over() or not self._trials:
            return
        evidence = Evidence(self.groups.finish(), self._trials)
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
        if not self._trials:
            return {}
        evidence = Evidence(self.groups.finish(), self._trials)
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

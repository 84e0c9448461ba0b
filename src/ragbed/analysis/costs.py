"""Compute the cost of a model's responses: in total, per case and per correct answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache

from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.runs.prices import Price, find_price, full_cost
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Estimate
from ragbed.testbeds import right_score

TABLE = "cost"


@dataclass
class _GroupCost:
    dollars: Decimal = Decimal(0)
    priced: int = 0  # number of cases with a known cost
    cases: int = 0
    errors: int = 0
    filtered: int = 0
    unreported: int = 0  # number of cases with a response that does not report its token usage
    # Number of correct answers among the cases with a known cost, by track.
    correct: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


@dataclass
class CostTally:
    """Adds up the cost of results as they are read. A cached response costs as much as the original call."""

    _groups: dict[TrialGroup, _GroupCost] = field(default_factory=dict)

    def add(self, stored: StoredResult, trial: Scored, own_prices: Mapping[str, Price] | None = None) -> None:
        """Add a result with its scores; the user's own prices precede those of the price list."""
        key = TrialGroup(trial.model, trial.data, trial.lang, trial.profile)
        group = self._groups.setdefault(key, _GroupCost())
        group.cases += 1
        group.errors += stored.completion.outcome == "error"
        group.filtered += stored.completion.outcome == "filtered"
        calls = stored.completion.steps or [stored.completion]
        if stored.completion.outcome in ("ok", "truncated") and not all(call.usage for call in calls):
            group.unreported += 1
        cost = _cost(stored, own_prices)
        if cost is not None:
            group.dollars += cost
            group.priced += 1
            for track, right in _correct(stored.case, trial):
                group.correct[track] += right

    def cells(self, tracks: Sequence[str]) -> Iterator[Cell]:
        """Yield the cost cells on every track, for all groups with a known cost."""
        for track in tracks:
            for key, group in self._groups.items():
                if group.priced and group.dollars:
                    values = {
                        "cost": group.dollars,
                        "cost_per_case": group.dollars / group.priced,
                        "cost_per_correct": group.dollars / Decimal(group.correct[track])
                        if group.correct[track]
                        else None,
                    }
                    for metric, value in values.items():
                        yield Cell(TABLE, key, track, "all", _estimate(metric, value, group), {})


def cost_of_result(stored: StoredResult, own_prices: Mapping[str, Price] | None = None) -> float | None:
    """Return the cost in dollars of all calls for a result, including cached calls, or None if the cost is unknown."""
    cost = _cost(stored, own_prices)
    return None if cost is None else float(cost)


def _cost(stored: StoredResult, own_prices: Mapping[str, Price] | None) -> Decimal | None:
    price = (own_prices or {}).get(stored.model) or _price(stored.model)
    return full_cost(stored.completion, price) if stored.completion.usage else None


def _estimate(metric: str, value: Decimal | None, group: _GroupCost) -> Estimate:
    return Estimate(
        metric=metric,
        value=None if value is None else float(value),
        low=None,
        high=None,
        n=group.priced,
        questions=group.priced,
        asked=group.cases,
        errors=group.errors,
        infeasible=0,
        filtered=group.filtered,
        unsure=group.unreported,
    )


def _correct(case: Case, trial: Scored) -> Iterator[tuple[str, float]]:
    """Yield each track with the response's score on that track (1 if the response is right)."""
    right = right_score(case)
    for name, value in (trial.scores or {}).items():
        track, _, score = name.rpartition(".")
        if score == right and isinstance(value, bool | float):
            yield track or "robust", float(value)


@cache
def _price(model: str) -> Price | None:
    return find_price(model)

"""Counts of laid-out cases per condition: what is feasible, what is not and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from ragbed.schema import Case


@dataclass
class FeasibilityRow:
    """One condition of one testbed on one dataset."""

    data: str
    testbed: str
    lang: str
    noise: float | None
    correct: float
    k: int
    arm: str
    feasible: int = 0
    infeasible: int = 0
    noise_real: float | None = None
    """Mean over the feasible cases that have documents."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Why cases are infeasible, and how many."""


class FeasibilityCounts:
    """Adds up cases as they pass."""

    def __init__(self) -> None:
        self._rows: dict[tuple[object, ...], FeasibilityRow] = {}
        self._measured: dict[tuple[object, ...], int] = {}
        self._sums: dict[tuple[object, ...], float] = {}

    def add(self, case: Case) -> None:
        """Counts one case."""
        key = (case.data, case.testbed, case.lang, case.noise, case.correct, case.k, case.arm)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = FeasibilityRow(*key)
        if case.feasible:
            row.feasible += 1
            if case.noise_real is not None:
                self._measured[key] = count = self._measured.get(key, 0) + 1
                self._sums[key] = self._sums.get(key, 0.0) + case.noise_real
                row.noise_real = round(self._sums[key] / count, 6)
        else:
            row.infeasible += 1
            reason = case.reason or ""
            row.reasons[reason] = row.reasons.get(reason, 0) + 1

    @property
    def rows(self) -> list[FeasibilityRow]:
        """All conditions, in the order in which they came."""
        return list(self._rows.values())

    def summary(self) -> dict[str, object]:
        """The counts as plain values, for JSON."""
        return {
            "feasible": sum(row.feasible for row in self.rows),
            "infeasible": sum(row.infeasible for row in self.rows),
            "conditions": [asdict(row) for row in self.rows],
        }

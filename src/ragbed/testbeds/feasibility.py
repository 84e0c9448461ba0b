"""Counts of feasible and infeasible cases per condition, with the reasons."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field

from ragbed.schema import Case


@dataclass
class FeasibilityRow:
    """The counts of one condition of one testbed on one dataset."""

    data: str
    testbed: str
    lang: str
    noise: float | None
    correct: float
    k: int
    arm: str
    feasible: int = 0
    infeasible: int = 0
    noise_real: float | None = None  # mean over the feasible cases with documents
    reasons: dict[str, int] = field(default_factory=dict)  # number of infeasible cases by reason


class FeasibilityCounts:
    """Count cases by condition."""

    def __init__(self) -> None:
        self._rows: dict[tuple[object, ...], FeasibilityRow] = {}
        self._noise: dict[tuple[object, ...], list[float]] = defaultdict(lambda: [0.0, 0])  # sum and count

    def add(self, case: Case) -> None:
        """Count one case."""
        key = (case.data, case.testbed, case.lang, case.noise, case.correct, case.k, case.arm)
        row = self._rows.get(key) or self._rows.setdefault(key, FeasibilityRow(*key))
        if not case.feasible:
            row.infeasible += 1
            row.reasons[case.reason or ""] = row.reasons.get(case.reason or "", 0) + 1
            return
        row.feasible += 1
        if case.noise_real is not None:
            noise = self._noise[key] = [self._noise[key][0] + case.noise_real, self._noise[key][1] + 1]
            row.noise_real = round(noise[0] / noise[1], 6)

    @property
    def rows(self) -> list[FeasibilityRow]:
        """All conditions, in the order of their first case."""
        return list(self._rows.values())

    def summary(self) -> dict[str, object]:
        """Return the counts as plain values for JSON."""
        return {
            "feasible": sum(row.feasible for row in self.rows),
            "infeasible": sum(row.infeasible for row in self.rows),
            "conditions": [asdict(row) for row in self.rows],
        }

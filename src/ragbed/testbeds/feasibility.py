"""Count feasible and infeasible cases per condition, and infeasible cases by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ragbed.errors import UsageError, option
from ragbed.schema import Case


class FeasibilityRow(Struct):
    """The case counts for one dataset, testbed and condition."""

    data: str
    testbed: str
    lang: str
    noise: float | None
    true_ratio: float
    k: int
    arm: str
    feasible: int = 0
    infeasible: int = 0
    noise_real: float | None = None  # mean actual noise ratio of the feasible cases with documents
    reasons: dict[str, int] = {}  # number of infeasible cases by reason


class FeasibilityCounts:
    """Counts cases by condition."""

    def __init__(self) -> None:
        self._rows: dict[tuple[object, ...], FeasibilityRow] = {}
        self._noise: dict[tuple[object, ...], tuple[float, int]] = {}  # sum and count of the noise ratios per condition

    def count(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases and count them."""
        for case in cases:
            self.add(case)
            yield case

    def add(self, case: Case) -> None:
        """Count a case under its condition."""
        key = (case.data, case.testbed, case.lang, case.noise, case.true_ratio, case.k, case.arm)
        row = self._rows.get(key) or self._rows.setdefault(key, FeasibilityRow(*key))
        if not case.feasible:
            row.infeasible += 1
            row.reasons[case.reason or ""] = row.reasons.get(case.reason or "", 0) + 1
            return
        row.feasible += 1
        if case.noise_real is not None:
            total, count = self._noise.get(key, (0.0, 0))
            self._noise[key] = total + case.noise_real, count + 1
            row.noise_real = round((total + case.noise_real) / (count + 1), 6)

    @property
    def rows(self) -> list[FeasibilityRow]:
        """The counts for all conditions, in the order of their first case."""
        return list(self._rows.values())

    @property
    def infeasible(self) -> Counter[str]:
        """The number of infeasible cases by reason."""
        return sum((Counter(row.reasons) for row in self.rows), Counter())


def require_feasible(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases, then check that at least one case with documents is feasible.

    Raises:
        UsageError: All cases with documents are infeasible; the message gives the most frequent reason.
    """
    feasible, reasons = 0, Counter[str]()
    for case in cases:
        if not case.feasible:
            reasons[case.reason or ""] += 1
        elif case.noise is not None or case.corpus is not None:
            feasible += 1
        yield case
    if reasons and not feasible:
        reason, count = reasons.most_common(1)[0]
        raise UsageError(
            f"No case can be built. Most frequent reason ({count:,} of {reasons.total():,} cases): {reason}. "
            f"Choose other values for {option('noise')}, {option('num_docs')}, {option('true_ratio')} or "
            f"{option('distractors')}, or another dataset; "
            "`ragbed export DATA --to jsonl` counts the feasible cases."
        )

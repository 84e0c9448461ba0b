"""The rows of a quality report: their definitions, values and gates, and RGB's values for reference."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.analysis.statistics.rates import wilson

Unit: TypeAlias = Literal["share", "count", "number"]
Passed: TypeAlias = Literal["passed", "failed", "not measured", "no gate"]


class Measure(Struct, frozen=True, kw_only=True):
    """A row in a quality report."""

    name: str
    meaning: str
    unit: Unit
    value: float | None  # None if the value cannot be measured; `note` states why
    hits: int | None = None  # numerator of a share
    n: int  # denominator, or sample size
    low: float | None = None  # lower limit of the 95% Wilson interval for a share
    high: float | None = None
    reference: str  # RGB's value, or the reason why there is none (docs/reference/build.md)
    gate: str | None = None
    passed: Passed = "no gate"
    note: str = ""


@dataclass(frozen=True)
class QualityGate:
    """A limit on a measure's value."""

    sign: Literal["≥", "≤", "="]
    bound: float

    def __str__(self) -> str:
        bound = f"{100 * self.bound:g}%" if 0 < self.bound <= 1 else f"{self.bound:g}"
        return f"{self.sign} {bound}"

    def judge(self, value: float | None) -> Passed:
        """Compare a value with the limit."""
        if value is None:
            return "not measured"
        compare = {"≥": operator.ge, "≤": operator.le, "=": operator.eq}[self.sign]
        return "passed" if compare(value, self.bound) else "failed"


@dataclass(frozen=True)
class MeasureSpec:
    """The definition of a measure: one row of the table in docs/reference/build.md."""

    name: str
    meaning: str
    reference: str = ""
    gate: QualityGate | None = None

    def share(self, hits: int, n: int, note: str = "") -> Measure:
        """Create a measure for a share with its confidence interval; the value is None if n is 0."""
        _, low, high = wilson(hits, n) if n else (None, None, None)
        return self._measure("share", hits / n if n else None, n, note, hits=hits, low=low, high=high)

    def count(self, value: int, n: int, note: str = "") -> Measure:
        """Create a measure for a count out of n; the value is None if n is 0."""
        return self._measure("count", value if n else None, n, note)

    def number(self, value: float | None, n: int, note: str = "") -> Measure:
        """Create a measure for a plain number."""
        return self._measure("number", value, n, note)

    def _measure(  # noqa: PLR0913 - a row has so many columns
        self, unit: Unit, value: float | None, n: int, note: str,
        *, hits: int | None = None, low: float | None = None, high: float | None = None,
    ) -> Measure:  # fmt: skip
        return Measure(
            name=self.name,
            meaning=self.meaning,
            unit=unit,
            value=value,
            hits=hits,
            n=n,
            low=low,
            high=high,
            reference=self.reference,
            gate=None if self.gate is None else str(self.gate),
            passed="no gate" if self.gate is None else self.gate.judge(value),
            note=note,
        )

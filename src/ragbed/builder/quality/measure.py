"""One figure of a quality report: what it means, what it is, what RGB's is, and whether it will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.analysis.statistics.rates import wilson
from ragbed.schema import Lang

Unit: TypeAlias = Literal["share", "count", "number"]
Passed: TypeAlias = Literal["passed", "failed", "not measured", "no gate"]


class Measure(Struct, frozen=True, kw_only=True):
    """A row of the report."""

    name: str
    meaning: str
    unit: Unit
    value: float | None
    """None where it cannot be measured; the note says why."""
    hits: int | None = None
    """Of a share: what is counted."""
    n: int
    """Out of how many."""
    low: float | None = None
    high: float | None = None
    """Of a share: its 95 % interval (Wilson)."""
    reference: str
    """RGB's value, or the reason why there is none (docs/quality.md)."""
    gate: str | None = None
    passed: Passed = "no gate"
    note: str = ""
    lang: Lang | None = None
    """Where a figure is of one language: words and characters cannot be compared."""

    @property
    def title(self) -> str:
        """Its name, with the language where it is of one."""
        return f"{self.name} ({self.lang})" if self.lang else self.name


@dataclass(frozen=True)
class QualityGate:
    """A bound that a figure must keep to."""

    sign: Literal["≥", "≤", "="]
    bound: float

    def __str__(self) -> str:
        bound = f"{100 * self.bound:g} %" if 0 < self.bound <= 1 else f"{self.bound:g}"
        return f"{self.sign} {bound}"

    def judge(self, value: float | None) -> Passed:
        """Whether a value keeps to it."""
        if value is None:
            return "not measured"
        tests: dict[str, Callable[[float], bool]] = {
            "≥": lambda one: one >= self.bound,
            "≤": lambda one: one <= self.bound,
            "=": lambda one: one == self.bound,
        }
        return "passed" if tests[self.sign](value) else "failed"


@dataclass(frozen=True)
class MeasureSpec:
    """The definition of a measure: one line of the table in docs/quality.md."""

    name: str
    meaning: str
    reference: str
    gate: QualityGate | None = None

    def share(self, hits: int, n: int, note: str = "") -> Measure:
        """A share, with its interval; not measured where there is nothing to count."""
        value = hits / n if n else None
        low, high = wilson(hits, n)[1:] if n else (None, None)
        return self._measure("share", value, n, note, hits=hits, low=low, high=high)

    def count(self, value: int, n: int, note: str = "") -> Measure:
        """So many, among n; not measured where there is nothing to count."""
        return self._measure("count", value if n else None, n, note)

    def number(self, value: float | None, n: int, note: str = "", lang: Lang | None = None) -> Measure:
        """A plain number; of one language where that is named."""
        return self._measure("number", value, n, note, lang=lang)

    def _measure(  # noqa: PLR0913 - a row has so many columns
        self, unit: Unit, value: float | None, n: int, note: str,
        *, hits: int | None = None, low: float | None = None, high: float | None = None,
        lang: Lang | None = None,
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
            lang=lang,
        )

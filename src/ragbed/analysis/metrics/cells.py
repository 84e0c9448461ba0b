"""Cells: an estimate and where in which table it stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict, Unpack

import msgspec
import numpy as np

from ragbed.analysis.metrics.trial_columns import Ints, Mask, TrialColumns, TrialGroup
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.bootstrap import Statistic, bootstrap
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.analysis.statistics.rates import Interval, clustered_wilson, wilson
from ragbed.schema import Estimate

Scope: TypeAlias = Literal["all", "known", "unknown", "common"]
"""Of questions: all, those that the model does or does not answer without documents, those that all models do."""


JUDGED = "judge "
"""Stands before the name of a judge, as the track of what it says."""


class CellKey(TypedDict, total=False):
    """What tells one cell of a metric from another."""

    noise: float | None
    k: int | None
    arm: str | None
    correct: float | None
    slot: int | None


@dataclass(frozen=True)
class Cell:
    """One number of a report."""

    table: str
    key: TrialGroup
    track: str
    scope: Scope
    estimate: Estimate
    place: CellKey

    def as_json(self) -> dict[str, object]:
        """As a report in JSON has it."""
        return (
            {"table": self.table, **self.key._asdict(), "track": self.track, "scope": self.scope}
            | {name: self.place.get(name, "related" if name == "arm" else None) for name in CellKey.__annotations__}
            | msgspec.structs.asdict(self.estimate)
        )


@dataclass(frozen=True)
class CellBuilder:
    """Makes the cells of one table from one sheet and track."""

    table: str
    sheet: TrialColumns
    track: str
    scope: Scope = "all"

    def score(self, name: str) -> Floats:
        """A score of every trial."""
        return self.sheet.score(name, self.track)

    def rate(self, metric: str, mask: Mask, values: Floats, **place: Unpack[CellKey]) -> Cell:
        """The mean of a score over the trials that have one, failures counting 0."""
        there = mask & np.isfinite(values)
        interval = _NOTHING
        if there.any():
            rows, counts = self.sheet.sums((mask, values))
            hits, asked = rows.T.tolist()
            interval = clustered_wilson(hits, asked, counts=counts.tolist())
        return self._cell(metric, interval, self.sheet.size(there), mask, place, scored=there)

    def difference(self, metric: str, first: Mask, second: Mask, values: Floats, **place: Unpack[CellKey]) -> Cell:
        """Second minus first, over the questions asked both ways; n is their number."""
        moved, counts = self.moved(first, second, values)
        interval = paired_difference(moved, counts=counts) if len(moved) else _NOTHING
        return self._cell(metric, interval, int(counts.sum()), first | second, place)

    def moved(self, first: Mask, second: Mask, values: Floats) -> tuple[Floats, Ints]:
        """The difference of every question (or event) that was asked both ways; and how many each stands for."""
        moved = self.sheet.per_cluster(second, values) - self.sheet.per_cluster(first, values)
        there = np.isfinite(moved)
        return moved[there], self.sheet.counts(self.sheet.cluster, self.sheet.clusters)[there]

    def resampled(
        self,
        metrics: Sequence[str],
        parts: Sequence[tuple[Mask, Floats]],
        statistic: Statistic,
        **place: Unpack[CellKey],
    ) -> list[Cell]:
        """Statistics of totals (the sums of all parts, then their trials) with bootstrap intervals."""
        rows, counts = self.sheet.sums(*parts)
        intervals = bootstrap(rows, statistic, counts=counts) if len(rows) else [_NOTHING] * len(metrics)
        mask, n = np.logical_or.reduce([mask for mask, _ in parts]), self.sheet.size(self.sheet.whole(*parts))
        return [
            self._cell(metric, interval, n, mask, place) for metric, interval in zip(metrics, intervals, strict=True)
        ]

    def interval(self, metric: str, interval: Interval, n: int, mask: Mask, **place: Unpack[CellKey]) -> Cell:
        """A number whose interval is known."""
        return self._cell(metric, interval, n, mask, place)

    def share(self, metric: str, hits: int, n: int, mask: Mask, **place: Unpack[CellKey]) -> Cell:
        """So many of n questions."""
        return self._cell(metric, wilson(hits, n), n, mask, place)

    def number(self, metric: str, value: float, n: int, mask: Mask, **place: Unpack[CellKey]) -> Cell:
        """A number without an interval, as a p value."""
        return self._cell(metric, Interval(value, math.nan, math.nan), n, mask, place)

    def _cell(
        self, metric: str, interval: Interval, n: int, mask: Mask, place: CellKey, *, scored: Mask | None = None
    ) -> Cell:
        value, low, high = (float(number) if math.isfinite(number) else None for number in interval)
        estimate = Estimate(
            metric=metric,
            value=value,
            low=low,
            high=high,
            n=n,
            questions=min(n, self.sheet.questions(mask & self.sheet.asked if scored is None else scored)),
            asked=self.sheet.size(mask & self.sheet.asked),
            errors=self.sheet.size(mask & self.sheet.failed),
            infeasible=self.sheet.size(mask & ~self.sheet.asked),
        )
        return Cell(self.table, self.sheet.key, self.track, self.scope, estimate, place)


_NOTHING = Interval(math.nan, math.nan, math.nan)

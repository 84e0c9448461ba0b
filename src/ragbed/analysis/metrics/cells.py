"""Cells of a report: estimates with their position in a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypedDict, Unpack, cast

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.metrics.trial_columns import Ints, Mask, TrialColumns, TrialGroup
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.bootstrap import Statistic, bootstrap, evaluate
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.analysis.statistics.rates import UNDEFINED, Interval, clustered_wilson
from ragbed.analysis.statistics.sequential import difference_sequence, rate_sequence
from ragbed.runs.decided import DecidedInterval, Place, narrow
from ragbed.schema import Estimate

# The questions that a cell covers: all questions, those that the model can answer without documents (`known`), those
# that it cannot (`unknown`), a set that is the same for all models (`common`), or, for judged metrics, those with
# responses that the rules cannot classify (`unsure`).
Scope: TypeAlias = Literal["all", "known", "unknown", "common", "unsure"]

# The value of `arm` for `transitions` cells of `integration`, if the same data also has cells of `noise`.
INTEGRATION = "integration"
JUDGED = "judge "  # the name of a judge's track is this prefix followed by the judge's name


class CellKey(TypedDict, total=False):
    """The condition that identifies a cell within a metric."""

    noise: float | None
    k: int | None
    arm: str | None
    correct: float | None
    slot: int | None


@dataclass(frozen=True)
class Cell:
    """One number in a report."""

    table: str
    key: TrialGroup
    track: str
    scope: Scope
    estimate: Estimate
    place: CellKey

    @property
    def has_usual_distractors(self) -> bool:
        """Return whether the cell is for the default distractor condition."""
        return self.place.get("arm") in (None, INTEGRATION)

    def as_json(self) -> dict[str, object]:
        """Return the cell as a record for a JSON report."""
        return (
            {"table": self.table, **self.key._asdict(), "track": self.track, "scope": self.scope}
            | {name: self.place.get(name, "related" if name == "arm" else None) for name in CellKey.__annotations__}
            | msgspec.structs.asdict(self.estimate)
        )


def interval_of(estimate: Estimate) -> Interval:
    """Return an estimate's value and bounds, with NaN for those that are missing."""
    bounds = (estimate.value, estimate.low, estimate.high)
    return Interval(*(math.nan if bound is None else bound for bound in bounds))


def full_place(cell: Cell) -> Place:
    """Return the dataset, language, profile and condition of a cell."""
    place: Place = {"data": cell.key.data, "lang": cell.key.lang, "profile": cell.key.profile}
    return place | {name: cast("str | float | None", value) for name, value in cell.place.items()}


def decided_for(cell: Cell, decided: Iterable[DecidedInterval]) -> list[DecidedInterval]:
    """Return the confidence intervals of the `--until` decisions that apply to a cell."""
    return [
        interval
        for interval in decided
        if (interval.model, interval.table, interval.metric) == (cell.key.model, cell.table, cell.estimate.metric)
        and (cell.track, cell.scope) == ("robust", "all")
        and interval.place == full_place(cell)
    ]


def narrow_cells(cells: Iterable[Cell], decided: Sequence[DecidedInterval], alpha: float) -> Iterator[Cell]:
    """Intersect the cells' confidence intervals with those of a run's `--until` decisions (see `runs.decided`)."""
    for cell in cells:
        estimate, found = cell.estimate, decided_for(cell, decided)
        if not found or estimate.value is None or estimate.low is None or estimate.high is None:
            yield cell
        else:
            low, high = narrow((estimate.value, estimate.low, estimate.high), found, alpha)
            yield replace(cell, estimate=msgspec.structs.replace(estimate, low=low, high=high))


@dataclass(frozen=True)
class CellBuilder:
    """Builds the cells of one table from the trials of one group, using the scores of one track.

    `alpha` is None for ordinary intervals. For a run that was monitored (`--until`), it is the error probability of
    intervals that are valid at any stopping time. In that case, values for which no such interval exists get no
    interval, and p-values are omitted.
    """

    table: str
    trials: TrialColumns
    track: str
    scope: Scope = "all"
    place: CellKey | None = None
    alpha: float | None = None

    def at(self, **place: Unpack[CellKey]) -> CellBuilder:
        """Return a builder for the cells of one condition."""
        return replace(self, place=place)

    def score(self, name: str) -> Floats:
        """Return the named score for every trial."""
        return self.trials.score(name, self.track)

    def rate(self, metric: str, mask: Mask, values: Floats) -> Cell:
        """Return the mean of a score over the trials that have it. Failed calls count as 0."""
        scored = mask & np.isfinite(values)
        interval = UNDEFINED
        if scored.any():
            rows, counts = self.trials.sums((mask, values))
            hits, trials = rows.T.tolist()
            interval = self._rate_interval(hits, trials, counts.tolist(), scored)
        return self.cell(metric, interval, self.trials.size(scored), mask, scored=scored)

    def _rate_interval(self, hits: list[float], trials: list[float], counts: list[int], mask: Mask) -> Interval:
        if self.alpha is None:
            return clustered_wilson(hits, trials, counts=counts)
        return rate_sequence(hits, trials, counts, self.alpha, self.trials.largest_planned(mask))

    def difference(self, metric: str, first: Mask, second: Mask, values: Floats) -> Cell:
        """Return the mean of `second` minus `first` over the questions with both values; n counts these questions."""
        moved, counts = self.moved(first, second, values)
        interval = self.paired(moved, counts) if len(moved) else UNDEFINED
        return self.cell(metric, interval, int(counts.sum()), first | second)

    def paired(self, moved: ArrayLike, counts: ArrayLike | None = None) -> Interval:
        """Return the mean of paired differences with its confidence interval."""
        if self.alpha is None:
            return paired_difference(moved, counts=counts)
        return difference_sequence(moved, counts, self.alpha)

    def fixed(self, interval: Interval) -> Interval:
        """Return an interval; in a monitored run, set its bounds to NaN, as they assume a fixed number of questions."""
        return interval if self.alpha is None else Interval(interval.value, math.nan, math.nan)

    def moved(self, first: Mask, second: Mask, values: Floats) -> tuple[Floats, Ints]:
        """Return the differences for questions (or events) with both values, and how many questions each represents.

        For an event, only its questions with both values are used, because the other questions are not paired.
        """
        trials = self.trials
        both = np.isfinite(trials.per_item(first, values) + trials.per_item(second, values))[trials.item]
        moved = trials.per_cluster(second & both, values) - trials.per_cluster(first & both, values)
        paired = np.isfinite(moved)
        return moved[paired], trials.cluster_counts[paired]

    def resampled(
        self,
        metrics: Sequence[str],
        parts: Sequence[tuple[Mask, Floats]],
        statistic: Statistic,
        mask: Mask | None = None,
    ) -> list[Cell]:
        """Return statistics computed from the score sums and trial counts of all parts, with bootstrap intervals.

        Args:
            metrics: Names of the metrics.
            parts: The trials of each part and their scores.
            statistic: A function that computes all metrics from the totals.
            mask: The trials that the cells count, e.g. as infeasible; by default, those of all parts.
        """
        rows, counts = self.trials.sums(*parts)
        intervals = [UNDEFINED] * len(metrics)
        if len(rows):
            intervals = (bootstrap if self.alpha is None else evaluate)(rows, statistic, counts=counts)
        counted = np.logical_or.reduce([part for part, _ in parts]) if mask is None else mask
        scored = self.trials.complete(*parts)
        n = self.trials.size(scored)
        return [
            self.cell(metric, interval, n, counted, scored=scored)
            for metric, interval in zip(metrics, intervals, strict=True)
        ]

    def share(self, metric: str, hits: Mask, of: Ints, mask: Mask) -> Cell:
        """Return a share of questions or other units with its confidence interval.

        The interval accounts for clustering by question or event.

        Args:
            metric: Name of the metric.
            hits: Whether each unit counts as a hit.
            of: The cluster that each unit belongs to.
            mask: The trials from which the units were derived.
        """
        trials = np.bincount(of, minlength=self.trials.clusters)
        found = np.bincount(of, weights=hits, minlength=self.trials.clusters)
        counts = self.trials.cluster_counts
        used = trials > 0
        interval = self._rate_interval(found[used].tolist(), trials[used].tolist(), counts[used].tolist(), mask)
        return self.cell(metric, interval, int(trials @ counts), mask)

    def number(self, metric: str, value: float, n: int, mask: Mask) -> Cell:
        """Return a number without a confidence interval, e.g. a p-value."""
        if self.alpha is not None and metric.endswith("_p"):
            value = math.nan
        return self.cell(metric, Interval(value, math.nan, math.nan), n, mask)

    def _count_unsure(self, mask: Mask) -> int:
        if self.track != "robust":
            return 0
        return self.trials.size(mask & (self.trials.score("unsure", self.track) == 1))

    def cell(self, metric: str, interval: Interval, n: int, mask: Mask, *, scored: Mask | None = None) -> Cell:
        """Return a cell with the given confidence interval and the counts of its trials."""
        value, low, high = (float(number) if math.isfinite(number) else None for number in interval)
        asked = mask & self.trials.asked & ~self.trials.unattributed
        estimate = Estimate(
            metric=metric,
            value=value,
            low=low,
            high=high,
            n=n,
            questions=min(n, self.trials.questions(asked if scored is None else scored)),
            asked=self.trials.size(asked),
            errors=self.trials.size(mask & self.trials.failed & ~self.trials.filtered),
            infeasible=self.trials.size(mask & ~self.trials.asked),
            truncated=self.trials.size(mask & self.trials.truncated),
            filtered=self.trials.size(mask & self.trials.filtered),
            unsure=self._count_unsure(asked) if metric == "accuracy" else 0,
        )
        return Cell(self.table, self.trials.key, self.track, self.scope, estimate, self.place or CellKey())

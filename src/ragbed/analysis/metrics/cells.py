"""Cells of a report: estimates with their position in a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal, TypeAlias, TypedDict, Unpack, cast

import msgspec
import numpy as np

from ragbed.analysis.locale import read_metrics
from ragbed.analysis.statistics.paired import changes, correlate, paired_difference
from ragbed.analysis.statistics.rates import ALPHA, UNDEFINED, Interval, clustered_wilson, combine_rates, ratio_interval
from ragbed.analysis.statistics.sequential import rate_sequence
from ragbed.analysis.statistics.testing import ClusterSums, Floats
from ragbed.analysis.trials.columns import SCORES, Ints, Mask, TrialColumns, TrialGroup, full_name
from ragbed.runs.decided import Place
from ragbed.schema import Estimate
from ragbed.scoring import own_metric
from ragbed.testbeds.settings import CLEAN

# The responses that a cell covers: all, or, for judged metrics, those that the rules cannot classify (`unsure`).
Scope: TypeAlias = Literal["all", "unsure"]

# The number of documents in the key of a cell whose conditions have one supporting document and a growing number of
# distractors, so that they share no number of documents.
ONE_SUPPORTING = 0
USUAL = "related"  # the default distractors, which cells do not name
JUDGED = "judge "  # the name of a judge's scorer is this prefix followed by the judge's name
RULES = "rules "  # in place of a judge's name: the rules, followed by the number of labels that correct them, if any
_VERDICTS = (*SCORES, "misled", "partial", "aligned")


class CellKey(TypedDict, total=False):
    """The condition that identifies a cell within a metric."""

    noise: float | None
    k: int | None
    arm: str | None
    correct: float | None
    slot: int | None


@dataclass(frozen=True)
class Cell:
    """One number in a report. `sums` are the sums from which gates are tested; None for values that are not means."""

    table: str
    key: TrialGroup
    scorer: str
    scope: Scope
    estimate: Estimate
    place: CellKey
    sums: ClusterSums | None = field(default=None, repr=False, compare=False)
    is_own: bool = False  # whether it is a metric of a user's scorer

    @property
    def is_number(self) -> bool:
        """Return whether the cell is the mean of numbers that a user's scorer returns, not a rate."""
        return self.is_own and self.sums is None

    @property
    def mix(self) -> str:
        """The distractor condition, or the condition of a testbed that shows no documents."""
        return "fixed" if self.place.get("k") == ONE_SUPPORTING else self.place.get("arm") or USUAL

    @property
    def has_usual_distractors(self) -> bool:
        """Return whether the cell is for the default distractor condition."""
        return self.place.get("arm") in (None, CLEAN)

    def as_json(self) -> dict[str, object]:
        """Return the cell as a record for a JSON report."""
        return (
            {"table": self.table, **self.key._asdict(), "scorer": self.scorer, "scope": self.scope}
            | {name: self.place.get(name, USUAL if name == "arm" else None) for name in CellKey.__annotations__}
            | msgspec.structs.asdict(self.estimate)
        )


def to_estimate(metric: str, interval: Interval, n: int, questions: int, **counts: int) -> Estimate:
    """Return an estimate from an interval. By default, all of its n cases were asked, and none failed."""
    value, low, high = interval.defined
    outcomes = {"asked": n, "errors": 0, "infeasible": 0} | counts
    return Estimate(metric=metric, value=value, low=low, high=high, n=n, questions=questions, **outcomes)


def interval_of(estimate: Estimate) -> Interval:
    """Return an estimate's value and bounds, with NaN for those that are missing."""
    bounds = (estimate.value, estimate.low, estimate.high)
    return Interval(*(math.nan if bound is None else bound for bound in bounds))


def full_place(cell: Cell) -> Place:
    """Return the dataset, language, profile and condition of a cell."""
    place: Place = {"data": cell.key.data, "lang": cell.key.lang, "profile": cell.key.profile}
    return place | {name: cast("str | float | None", value) for name, value in cell.place.items()}


def weigh(parts: Iterable[tuple[Mask, float]], values: Floats) -> Floats:
    """Return a weight for each trial, 1 on average, that gives each part its share of the total weight.

    Args:
        parts: Disjoint sets of trials, each with its share.
        values: The score of every trial; trials without a score have no weight.
    """
    weights = np.zeros(len(values))
    for mask, share in parts:
        scored = mask & np.isfinite(values)
        weights[scored] = share / max(1, int(np.count_nonzero(scored)))
    return np.asarray(weights * np.count_nonzero(weights) / max(float(weights.sum()), 1e-300))


@dataclass(frozen=True)
class CellBuilder:
    """Builds the cells of one table from the trials of one group, using the scores of one scorer.

    The intervals of a run that was monitored (`--until`) are valid at any stopping time with the error probability
    `alpha`. In that case, values for which no such interval exists get no interval, and p-values are omitted.
    """

    table: str
    trials: TrialColumns
    scorer: str
    place: CellKey | None = None
    alpha: float = ALPHA

    @property
    def is_monitored(self) -> bool:
        """Whether the run could stop at any time."""
        return self.trials.largest > 0

    def at(self, **place: Unpack[CellKey]) -> CellBuilder:
        """Return a builder for the cells of one condition."""
        return replace(self, place=place)

    def score(self, name: str) -> Floats:
        """Return the named score for every trial."""
        return self.trials.score(name, self.scorer)

    def rate(self, metric: str, mask: Mask, values: Floats, weights: Floats | None = None) -> Cell:
        """Return the mean of a score over the trials that have it. Failed calls count as 0.

        Args:
            metric: Name of the metric.
            mask: The trials.
            values: The score of every trial, from 0 to 1.
            weights: Weight of every trial; equal by default.
        """
        scored = mask & np.isfinite(values)
        weight = np.ones(len(values)) if weights is None else weights
        is_graded = weights is not None or not np.isin(values[scored], (0, 1)).all()
        sums = self._sums(self.trials.cluster[scored], values[scored], weight[scored])
        largest = self.trials.largest_planned(scored) * float(weight.max(initial=1))
        return self.cell(metric, self._interval(sums, largest, is_graded=is_graded), mask, scored, sums=sums)

    def rates(self, mask: Mask) -> Iterator[Cell]:
        """Yield the table's metrics that are rates of scores, as `metrics.toml` defines them, if the trials have them.

        The verdicts of the scorer can be combined with `and`, `or` and `not`, and with `responded`.
        """
        for metric in read_metrics():
            if metric.table == self.table and metric.scorer in ("", self.scorer):
                ways = [way.split(" and ") for way in metric.score.split(" or ")]
                if all(self._has(term.removeprefix("not "), mask) for way in ways for term in way):
                    values = [reduce(np.multiply, map(self._term, way)) for way in ways]
                    used = mask & (self.score(metric.given) == 1) if metric.given else mask
                    yield self.rate(metric.name, used, reduce(np.maximum, values))

    def _has(self, name: str, mask: Mask) -> bool:
        if name in _VERDICTS:
            return name in SCORES or self.trials.has(name, self.scorer)
        return name == "responded" or bool(np.isfinite(self.trials.additional(name)[mask]).any())

    def _term(self, term: str) -> Floats:
        name = term.removeprefix("not ")
        if name == "responded":
            return self.trials.responded(self.scorer).astype(np.float64)
        values = self.score(name) if name in _VERDICTS else self.trials.additional(name)
        return values if name == term else 1 - values

    def share(self, metric: str, hits: Mask, of: Ints, mask: Mask) -> Cell:
        """Return a share of questions or other units with its confidence interval.

        The interval accounts for clustering by question or event.

        Args:
            metric: Name of the metric.
            hits: Whether each unit counts as a hit.
            of: The cluster that each unit belongs to.
            mask: The trials from which the units were derived.
        """
        sums = self._sums(of, hits.astype(np.float64), np.ones(len(of)))
        interval = self._interval(sums, self.trials.largest_planned(mask), is_graded=False)
        return self.cell(metric, interval, mask, mask & self.trials.asked, n=len(of), sums=sums)

    @staticmethod
    def _sums(clusters: Ints, values: Floats, weights: Floats) -> ClusterSums:
        """Return the sums of the values of units, by cluster; clusters without weight are left out."""
        totals, sizes = (np.bincount(clusters, weights=part) for part in (weights * values, weights))
        return ClusterSums.of(totals[sizes > 0], sizes[sizes > 0])

    def _interval(self, sums: ClusterSums, largest: float, *, is_graded: bool) -> Interval:
        """Return the weighted mean of the values of clustered units with its interval.

        Args:
            sums: The sums of the values in each cluster.
            largest: For a monitored run, the largest planned weight of a cluster, or 0 if unknown.
            is_graded: Whether the values can vary less than verdicts (see `clustered_wilson`).
        """
        if not len(sums.sizes):
            return UNDEFINED
        if self.is_monitored:
            return rate_sequence(sums.totals, sums.sizes, self.alpha, largest)
        return clustered_wilson(sums.totals.tolist(), sums.sizes.tolist(), is_graded=is_graded)

    def difference(self, metric: str, first: Mask, second: Mask, values: Floats) -> Iterator[Cell]:
        """Yield the mean of `second` minus `first` over the questions with both values, if there are any.

        Each question has the weight of its trials, so the difference is that of the two rates if both cover the same
        questions.
        """
        trials = self.trials
        before, after = (trials.per_item(mask, values) for mask in (first, second))
        paired = np.isfinite(before) & np.isfinite(after)
        if paired.any():
            both = (first | second) & np.isfinite(values) & paired[trials.item]
            weights = np.bincount(trials.item[both], minlength=len(trials.items))[paired]
            clusters = trials.clusters_of(trials.item, len(trials.items))[paired]
            moved = changes(before[paired], after[paired])
            yield self.paired(metric, moved, weights, clusters, first | second, both)

    def paired(self, metric: str, moved: Floats, weights: Ints, clusters: Ints, mask: Mask, scored: Mask) -> Cell:
        """Return the mean of paired changes, one for each question.

        Args:
            metric: Name of the metric.
            moved: The change in each question's score.
            weights: Weight of each question.
            clusters: The cluster of each question.
            mask: The trials.
            scored: The trials from which the changes were computed.
        """
        if not self.is_monitored:
            interval = paired_difference(moved, weights=weights, clusters=clusters)
        else:
            largest = self.trials.largest_planned(scored)
            halves = self._sums(clusters, (moved + 1) / 2, weights.astype(np.float64))
            interval = Interval(*(2 * bound - 1 for bound in self._interval(halves, largest, is_graded=True)))
        sums = self._sums(clusters, moved, weights.astype(np.float64))
        return self.cell(metric, interval, mask, scored, n=len(np.unique(self.trials.item[scored])), sums=sums)

    def mean_of_rates(self, metric: str, *parts: tuple[Mask, Floats]) -> Cell:
        """Return the mean of two rates of different trials, with an interval that accounts for their correlation."""
        trials, rates, residuals = self.trials, list[Interval](), list[Floats]()
        scored = np.logical_or.reduce([mask & np.isfinite(values) for mask, values in parts])
        for mask, values in parts:
            rate = interval_of(self.rate(metric, mask, values).estimate)
            used = mask & np.isfinite(values)
            moved = np.bincount(trials.cluster[used], weights=values[used] - rate.value, minlength=trials.clusters)
            rates.append(rate)
            residuals.append(moved.astype(np.float64))
        interval = combine_rates(rates, [1 / len(rates)] * len(rates), correlate(*residuals))
        union, sums = np.logical_or.reduce([mask for mask, _ in parts]), self.combined_sums([1.0] * len(parts), *parts)
        return self.cell(metric, self.fixed(interval), union, scored, sums=sums)

    def combined_sums(self, weights: Sequence[float], *parts: tuple[Mask, Floats]) -> ClusterSums:
        """Return the sums, by cluster, of a weighted sum of rates that is divided by its absolute weights."""
        totals, sizes = np.zeros(self.trials.clusters), np.zeros(self.trials.clusters)
        for weight, (mask, values) in zip(weights, parts, strict=True):
            used = mask & np.isfinite(values)
            n = int(np.count_nonzero(used))
            each = np.full(n, weight / max(1, n))
            totals += np.bincount(self.trials.cluster[used], weights=each * values[used], minlength=len(totals))
            sizes += np.bincount(self.trials.cluster[used], weights=np.abs(each), minlength=len(sizes))
        return ClusterSums.of(totals[sizes > 0], sizes[sizes > 0])

    def ratio(self, metric: str, mask: Mask, totals: Floats, counts: Floats | None = None) -> Cell:
        """Return a total per count, e.g. tokens per correct answer; by default, per trial with a total."""
        scored = mask & np.isfinite(totals)
        cluster = self.trials.cluster[scored]
        count = np.ones(len(totals)) if counts is None else counts
        total, size = (np.bincount(cluster, weights=part[scored]) for part in (totals, count))
        used = np.bincount(cluster) > 0
        interval = ratio_interval(total[used].tolist(), size[used].tolist()) if size.any() else UNDEFINED
        return self.cell(metric, self.fixed(interval), mask, scored)

    def own(self, score: str) -> Cell:
        """Return the rate of a verdict of a user's scorer, or the mean of its numbers over the responses."""
        metric, full, mask = own_metric(self.scorer, score), full_name(score, self.scorer), self.trials.asked
        is_number = full in self.trials.numbers
        cell = (
            self.ratio(metric, mask, self.trials.additional(full))
            if is_number
            else self.rate(metric, mask, self.score(score))
        )
        return replace(cell, sums=None if is_number else cell.sums, is_own=True)

    def fixed(self, interval: Interval) -> Interval:
        """Return an interval; in a monitored run, set its bounds to NaN, as they assume a fixed number of questions."""
        return interval.without_bounds() if self.is_monitored else interval

    def number(self, metric: str, value: float, mask: Mask, n: int | None = None) -> Cell:
        """Return a number without a confidence interval, e.g. a p-value."""
        if self.is_monitored and metric.endswith("_p"):
            value = math.nan
        return self.cell(metric, Interval(value, math.nan, math.nan), mask, mask & self.trials.asked, n)

    def cell(
        self,
        metric: str,
        interval: Interval,
        mask: Mask,
        scored: Mask,
        n: int | None = None,
        sums: ClusterSums | None = None,
    ) -> Cell:
        """Return a cell with the given interval.

        Args:
            metric: Name of the metric.
            interval: Value and interval.
            mask: The trials that the cell counts, e.g. as failed or infeasible.
            scored: The trials on which the value is based.
            n: Number of units on which the value is based; by default, of these trials.
            sums: The sums from which the value was computed.
        """
        trials, asked = self.trials, mask & self.trials.asked
        counts_unsure = metric == "accuracy" and self.scorer == "robust"
        estimate = to_estimate(
            metric,
            interval,
            int(np.count_nonzero(scored)) if n is None else n,
            int(np.count_nonzero(np.bincount(trials.cluster[scored]))),
            asked=int(np.count_nonzero(asked)),
            errors=int(np.count_nonzero(mask & trials.failed & ~trials.filtered)),
            infeasible=int(np.count_nonzero(mask & ~trials.asked)),
            truncated=int(np.count_nonzero(mask & trials.truncated)),
            filtered=int(np.count_nonzero(mask & trials.filtered)),
            unsure=int(np.count_nonzero(asked & (self.score("unsure") == 1))) if counts_unsure else 0,
        )
        return Cell(self.table, trials.key, self.scorer, "all", estimate, self.place or CellKey(), sums)

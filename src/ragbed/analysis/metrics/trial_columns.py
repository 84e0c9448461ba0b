"""All trials of one model on one dataset, stored as columns from which metrics are computed."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.statistics.testing import Floats

Mask: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

TRACKS = ("robust", "code", "paper")  # scoring tracks; `code` and `paper` are also prefixes of score names


class TrialGroup(NamedTuple):
    """The model, dataset, language and profile that trials share."""

    model: str
    data: str
    lang: str
    profile: str


@dataclass(frozen=True)
class TrialColumns:
    """Columns with one entry per trial. Items, clusters and kinds are numbered from 0."""

    key: TrialGroup
    items: tuple[str, ...]  # item names, indexed by item number
    kinds: tuple[tuple[str, str], ...]  # testbed and distractor condition of each kind of trial, indexed by kind number
    scores: dict[str, Floats]  # scores by full name; NaN if there is no verdict
    item: Ints
    cluster: Ints
    kind: Ints
    noise: Floats  # requested noise ratio; NaN if there are no documents
    noise_real: Floats  # actual noise ratio, rounded to three digits
    correct: Floats  # share of true documents, for counterfactual trials
    k: Ints
    slot: Ints  # position of the first document with an answer, or −1 if there is none
    seed: Ints
    repeat: Ints
    asked: Mask  # False for infeasible cases
    failed: Mask  # True for attempted cases without a response
    filtered: Mask  # True if the provider's content filter rejected the request
    truncated: Mask  # True if the response is incomplete
    # For a monitored run, the maximum number of planned trials per cluster and condition; 0 if unknown.
    largest: int = 0

    def of(self, testbed: str, arm: str = "related") -> Mask:
        """Return the trials of a testbed, including infeasible ones."""
        number = self.kinds.index((testbed, arm)) if (testbed, arm) in self.kinds else -1
        return np.asarray(self.kind == number)

    def split(self, mask: Mask, column: str) -> Iterator[tuple[Any, Mask]]:
        """Yield the distinct values in a column in ascending order, each with a mask of the trials that have it."""
        values = getattr(self, column)
        for value in np.unique(values[mask]).tolist():
            yield value, mask & (values == value)

    def has(self, name: str, track: str) -> bool:
        """Return whether any trial has the given score."""
        return full_name(name, track) in self.scores

    @property
    def is_silent(self) -> bool:
        """Return whether there were calls and all of them failed."""
        return bool(self.failed.any() and (self.failed == self.asked).all())

    def score(self, name: str, track: str) -> Floats:
        """Return the score of every trial: 0 for failed calls, NaN for infeasible cases and missing verdicts.

        If none of the model's responses has the score, it is also NaN for failed calls, unless all calls failed.
        """
        values = self.scores.get(full_name(name, track))
        if values is None and not self.is_silent:
            return np.full(len(self.item), nan)
        return np.where(self.failed, 0.0, nan if values is None else values)

    def untracked(self, name: str) -> Floats:
        """Return a score that does not depend on the track, or NaN for trials without it."""
        return self.scores.get(name, np.full(len(self.item), nan))

    def responded(self, track: str) -> Mask:
        """Return the trials with a usable response. On the robust track, truncated responses are excluded."""
        responded = self.asked & ~self.failed
        return responded & ~self.truncated if track == "robust" else responded

    def largest_planned(self, mask: Mask) -> int:
        """Return the maximum number of trials per cluster that a mask selects in the complete run, or 0 if unknown."""
        if not self.largest:
            return 0
        columns = (self.kind, np.nan_to_num(self.noise, nan=-1.0), self.correct, self.k)
        conditions = np.unique(np.stack([column[mask] for column in columns]), axis=1)
        return self.largest * len(conditions.T)

    def restricted(self, keep: Mask | Ints) -> TrialColumns:
        """Return the trials selected by a mask or by indices. Items and clusters keep their numbers."""
        columns = {name: getattr(self, name)[keep] for name in _TYPE_CODES}
        return replace(self, scores={name: values[keep] for name, values in self.scores.items()}, **columns)

    def per_item(self, mask: Mask, values: Floats) -> Floats:
        """Return the mean score for each question, or NaN if it has no trials."""
        return _means(self.item, mask, values, len(self.items))

    @cached_property
    def layouts(self) -> Ints:
        """Return the layout number of each trial. A layout is a question with the documents chosen by a seed."""
        seeds, seed = np.unique(self.seed, return_inverse=True)
        return np.asarray(self.item * max(1, len(seeds)) + seed)

    def per_layout(self, mask: Mask, values: Floats) -> Floats:
        """Return the mean score for each layout, or NaN if it has no trials."""
        return _means(self.layouts, mask, values, int(self.layouts.max(initial=-1)) + 1)

    def clusters_of(self, groups: Ints, size: int) -> Ints:
        """Return the cluster to which each group, e.g. each item, belongs."""
        clusters = np.zeros(size, np.int64)
        clusters[groups] = self.cluster
        return clusters

    @cached_property
    def clusters(self) -> int:
        """Return the highest cluster number plus one."""
        return int(self.cluster.max(initial=-1)) + 1

    def sums(self, *parts: tuple[Mask, Floats]) -> Floats:
        """Return one row per cluster with trials: the sum of the scores in each part, then its number of trials."""
        used = [mask & np.isfinite(values) for mask, values in parts]
        hits = [
            np.bincount(self.cluster[mask], weights=values[mask], minlength=self.clusters)
            for mask, (_, values) in zip(used, parts, strict=True)
        ]
        trials = [np.bincount(self.cluster[mask], minlength=self.clusters) for mask in used]
        rows = np.column_stack([*hits, *trials])
        return np.asarray(rows[rows[:, len(parts) :].any(axis=1)])


def full_name(name: str, track: str) -> str:
    """Return the name of a score with its track's prefix."""
    return name if track == "robust" else f"{track}.{name}"


def group_trials(trials: Iterable[Scored], largest: int = 0) -> list[TrialColumns]:
    """Group trials by model, dataset, language and profile, in order of first appearance."""
    groups = TrialGroups(largest)
    for trial in trials:
        groups.add(trial)
    return groups.finish()


class TrialGroups:
    """Assigns trials to groups as they arrive one by one, keeping only their columns.

    Args:
        largest: Maximum number of planned trials per cluster and condition; 0 if unknown.
    """

    def __init__(self, largest: int = 0) -> None:
        self._largest = largest
        self._builders: dict[TrialGroup, _ColumnBuilder] = {}

    def add(self, trial: Scored) -> None:
        """Add a trial to its group."""
        key = TrialGroup(trial.model, trial.data, trial.lang, trial.profile)
        builder = self._builders.get(key)
        if builder is None:
            builder = self._builders[key] = _ColumnBuilder(key)
        builder.add(trial)

    def finish(self) -> list[TrialColumns]:
        """Return the groups in order of first appearance."""
        return [replace(builder.finish(), largest=self._largest) for builder in self._builders.values()]


_TYPE_CODES = {
    **dict.fromkeys(("item", "cluster", "kind", "k", "slot", "seed", "repeat"), "q"),
    **dict.fromkeys(("noise", "noise_real", "correct"), "d"),
    **dict.fromkeys(("asked", "failed", "filtered", "truncated"), "b"),
}


class _ColumnBuilder:
    def __init__(self, key: TrialGroup) -> None:
        self._key = key
        self._items: dict[str, int] = {}
        self._clusters: dict[tuple[str, str | None], int] = {}
        self._kinds: dict[tuple[str, str], int] = {}
        self._columns: dict[str, array[Any]] = {name: array(code) for name, code in _TYPE_CODES.items()}
        self._appends = [column.append for column in self._columns.values()]
        self._scores: dict[str, array[float]] = defaultdict(lambda: array("d"))
        self._size = 0

    def add(self, trial: Scored) -> None:
        # Keep events and items apart, because an event may have the same name as an unrelated item.
        cluster = (trial.item, None) if trial.cluster is None else ("", trial.cluster)
        row = (
            self._items.setdefault(trial.item, len(self._items)),
            self._clusters.setdefault(cluster, len(self._clusters)),
            self._kinds.setdefault((trial.testbed, trial.arm), len(self._kinds)),
            trial.k,
            trial.slots[0] if trial.slots else -1,
            trial.seed,
            trial.repeat,
            nan if trial.noise is None else trial.noise,
            nan if trial.noise_real is None else round(trial.noise_real, 3),
            trial.correct,
            trial.outcome != "infeasible",
            trial.outcome in ("error", "filtered"),
            trial.outcome == "filtered",
            trial.outcome == "truncated",
        )
        for append, value in zip(self._appends, row, strict=True):
            append(value)
        for name, score in (trial.scores or {}).items():
            if isinstance(score, bool | float | int):  # other scores, e.g. labels, are only displayed
                column = self._scores[name]
                if len(column) < self._size:
                    column.extend([nan] * (self._size - len(column)))
                column.append(score)
        self._size += 1

    def finish(self) -> TrialColumns:
        for column in self._scores.values():
            column.extend([nan] * (self._size - len(column)))
        columns: dict[str, Any] = {
            name: np.array(column, np.bool_ if column.typecode == "b" else None)
            for name, column in self._columns.items()
        }
        return TrialColumns(
            key=self._key,
            items=tuple(self._items),
            kinds=tuple(self._kinds),
            scores={name: np.array(column) for name, column in self._scores.items()},
            **columns,
        )


def _means(groups: Ints, mask: Mask, values: Floats, size: int) -> Floats:
    used = mask & np.isfinite(values)
    sums = np.bincount(groups[used], weights=values[used], minlength=size)
    counts = np.bincount(groups[used], minlength=size)
    return np.asarray(np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0))

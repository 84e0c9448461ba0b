"""All trials of one model on one dataset, as columns: what the metrics of an ability are computed from."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.statistics.binomial import Floats

Mask: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

TRACKS = ("robust", "code", "paper")
"""Names of scores have the track in front, those of the robust track nothing."""


class TrialGroup(NamedTuple):
    """Whose trials these are."""

    model: str
    data: str
    lang: str
    profile: str


@dataclass(frozen=True)
class TrialColumns:
    """Columns, one entry a trial; questions, clusters and conditions are numbered from 0."""

    key: TrialGroup
    items: tuple[str, ...]
    """The question of each number."""
    kinds: tuple[tuple[str, str], ...]
    """Testbed and arm of each number."""
    scores: dict[str, Floats]
    """By full name; NaN where there is no verdict."""
    item: Ints
    cluster: Ints
    kind: Ints
    noise: Floats
    """NaN without documents."""
    noise_real: Floats
    """As delivered, to the thousandth."""
    correct: Floats
    """Counterfactual: share of true documents."""
    k: Ints
    slot: Ints
    """Where the first document that bears an answer stands; −1 where there is none."""
    seed: Ints
    """Of the layout."""
    repeat: Ints
    asked: Mask
    failed: Mask
    """Asked, and no reply came."""
    filtered: Mask
    """Failed, because the provider's content filter refused the request."""
    count: Ints
    """How many trials it stands for: of equal questions one is held (`sums`), otherwise 1."""

    def of(self, testbed: str, arm: str = "related") -> Mask:
        """The trials of a testbed, infeasible ones too."""
        number = self.kinds.index((testbed, arm)) if (testbed, arm) in self.kinds else -1
        return np.asarray(self.kind == number)

    def has(self, name: str, track: str) -> bool:
        """Whether any trial has this score."""
        return full_name(name, track) in self.scores

    @property
    def is_silent(self) -> bool:
        """Whether it was asked and no reply ever came."""
        return bool(self.failed.any() and (self.failed == self.asked).all())

    def score(self, name: str, track: str) -> Floats:
        """A score of every trial: 0 where no reply came, NaN where nobody was asked or the scorer had no verdict.

        A score that replies of this model do not have at all has no zeros either, unless there are no replies.
        """
        values = self.scores.get(full_name(name, track))
        if values is None and not self.is_silent:
            return np.full(len(self.item), nan)
        return np.where(self.failed, 0.0, nan if values is None else values)

    def size(self, mask: Mask) -> int:
        """How many trials there are."""
        return int(self.count[mask].sum())

    def questions(self, mask: Mask) -> int:
        """Return the number of distinct questions among some trials."""
        return int(self.item_counts[np.unique(self.item[mask])].sum())

    def counts(self, groups: Ints, size: int) -> Ints:
        """How many questions (or whatever trials are grouped by) every group stands for."""
        counts = np.zeros(size, np.int64)
        counts[groups] = self.count
        return counts

    def restricted(self, keep: Mask | Ints) -> TrialColumns:
        """The same questions and clusters, some of the trials: by a mask, or by their places."""
        columns = {name: getattr(self, name)[keep] for name in _COLUMNS}
        return replace(self, scores={name: values[keep] for name, values in self.scores.items()}, **columns)

    def per_item(self, mask: Mask, values: Floats) -> Floats:
        """The mean of a score for every question; NaN where it was not asked so."""
        return _means(self.item, mask, values, len(self.items))

    @property
    def item_counts(self) -> Ints:
        """How many questions each stands for."""
        return self.counts(self.item, len(self.items))

    @property
    def layouts(self) -> Ints:
        """Of every trial: its question as its seed lays it out, numbered."""
        seeds, seed = np.unique(self.seed, return_inverse=True)
        return np.asarray(self.item * max(1, len(seeds)) + seed)

    def per_layout(self, mask: Mask, values: Floats) -> Floats:
        """The mean of a score for every question as every seed lays it out; NaN where it was not asked so."""
        return _means(self.layouts, mask, values, int(self.layouts.max(initial=-1)) + 1)

    @property
    def clusters(self) -> int:
        """The highest number of a cluster, and one more."""
        return int(self.cluster.max(initial=-1)) + 1

    def per_cluster(self, mask: Mask, values: Floats) -> Floats:
        """The mean of a score for every cluster; NaN where it was not asked so."""
        return _means(self.cluster, mask, values, self.clusters)

    def whole(self, *parts: tuple[Mask, Floats]) -> Mask:
        """The trials of any part that have a score in each of theirs, so that parts of one mask add up the same."""
        complete = [~mask | np.isfinite(values) for mask, values in parts]
        return np.asarray(np.logical_or.reduce([mask for mask, _ in parts]) & np.logical_and.reduce(complete))

    def sums(self, *parts: tuple[Mask, Floats]) -> tuple[Floats, Ints]:
        """One row a cluster that occurs: for each part the sum of the score, and then of each the trials.

        With it, how many clusters each row stands for.
        """
        size, whole = self.clusters, self.whole(*parts)
        hits, asked = [], []
        for mask, values in parts:
            there = mask & whole
            hits.append(np.bincount(self.cluster[there], weights=values[there], minlength=size))
            asked.append(np.bincount(self.cluster[there], minlength=size).astype(np.float64))
        rows = np.column_stack([*hits, *asked])
        there = rows[:, len(parts) :].sum(axis=1) > 0
        return np.asarray(rows[there]), self.counts(self.cluster, size)[there]


_COLUMNS = (
    *("item", "cluster", "kind", "noise", "noise_real", "correct"),
    *("k", "slot", "seed", "repeat", "asked", "failed", "filtered", "count"),
)


def full_name(name: str, track: str) -> str:
    """A score's name as trials have it."""
    return name if track == "robust" else f"{track}.{name}"


def make_sheets(trials: Iterable[Scored]) -> list[TrialColumns]:
    """Group trials by model, dataset, language and profile, in the order of their first trials."""
    builder = SheetBuilder()
    for trial in trials:
        builder.add(trial)
    return builder.finish()


class SheetBuilder:
    """Groups trials that arrive one by one; only their columns are kept."""

    def __init__(self) -> None:
        self._sheets: dict[TrialGroup, _Growing] = {}

    def add(self, trial: Scored) -> None:
        """Add a trial to the sheet of its group."""
        key = TrialGroup(trial.model, trial.data, trial.lang, trial.profile)
        sheet = self._sheets.get(key)
        if sheet is None:
            sheet = self._sheets[key] = _Growing(key)
        sheet.add(trial)

    def finish(self) -> list[TrialColumns]:
        """Return the sheets, in the order of their first trials."""
        return [sheet.done() for sheet in self._sheets.values()]


class _Growing:
    """A sheet to which trials are added."""

    def __init__(self, key: TrialGroup) -> None:
        self._key = key
        self._items: dict[str, int] = {}
        self._clusters: dict[tuple[str, str | None], int] = {}
        self._kinds: dict[tuple[str, str], int] = {}
        self._whole = {name: array("q") for name in ("item", "cluster", "kind", "k", "slot", "seed", "repeat")}
        self._shares = {name: array("d") for name in ("noise", "noise_real", "correct")}
        self._flags = {name: array("b") for name in ("asked", "failed", "filtered")}
        self._scores: dict[str, array[float]] = {}
        self._size = 0

    def add(self, trial: Scored) -> None:
        whole, shares, flags = self._whole, self._shares, self._flags
        whole["item"].append(self._items.setdefault(trial.item, len(self._items)))
        # An event may have the name of an item that is not of it.
        cluster = (trial.item, None) if trial.cluster is None else ("", trial.cluster)
        whole["cluster"].append(self._clusters.setdefault(cluster, len(self._clusters)))
        whole["kind"].append(self._kinds.setdefault((trial.testbed, trial.arm), len(self._kinds)))
        whole["k"].append(trial.k)
        whole["slot"].append(trial.slots[0] if trial.slots else -1)
        whole["seed"].append(trial.seed)
        whole["repeat"].append(trial.repeat)
        shares["noise"].append(nan if trial.noise is None else trial.noise)
        shares["noise_real"].append(nan if trial.noise_real is None else round(trial.noise_real, 3))
        shares["correct"].append(trial.correct)
        flags["asked"].append(trial.outcome != "infeasible")
        flags["failed"].append(trial.outcome in ("error", "refused"))
        flags["filtered"].append(trial.outcome == "refused")
        self._add_scores(trial)

    def _add_scores(self, trial: Scored) -> None:
        for name, value in (trial.scores or {}).items():
            if isinstance(value, bool | float | int):  # labels and verdicts are for people
                column = self._scores.get(name)
                if column is None:
                    column = self._scores[name] = array("d")
                if len(column) < self._size:
                    column.extend([nan] * (self._size - len(column)))
                column.append(value)
        self._size += 1

    def done(self) -> TrialColumns:
        for column in self._scores.values():
            column.extend([nan] * (self._size - len(column)))
        columns: dict[str, Any] = {name: np.array(column) for name, column in (self._whole | self._shares).items()}
        columns |= {name: np.array(column, np.bool_) for name, column in self._flags.items()}
        return TrialColumns(
            key=self._key,
            items=tuple(self._items),
            kinds=tuple(self._kinds),
            scores={name: np.array(column) for name, column in self._scores.items()},
            count=np.ones(self._size, np.int64),
            **columns,
        )


def _means(groups: Ints, mask: Mask, values: Floats, size: int) -> Floats:
    there = mask & np.isfinite(values)
    sums = np.bincount(groups[there], weights=values[there], minlength=size)
    counts = np.bincount(groups[there], minlength=size)
    return np.asarray(np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0))

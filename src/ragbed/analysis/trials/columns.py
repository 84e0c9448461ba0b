"""The trials of one model on one dataset as columns, from which metrics are computed."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache, partial
from math import nan
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError
from ragbed.runs.condition import Condition
from ragbed.runs.prices import find_price, usage_cost
from ragbed.schema import ScoreName
from ragbed.scoring.value import Value
from ragbed.testbeds import headline_score

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Labels: TypeAlias = Mapping[tuple[Path, str], str]

SCORERS = ("robust", "code", "paper")  # `code` and `paper` are also prefixes of score names
CAUSE = "cause."  # prefix of the columns that are 1 for trials with a cause of a wrong answer (`scoring.causes`)
_INFEASIBLE = "infeasible"
# Verdicts that all scorers have; `expected` only for given documents.
SCORES: tuple[ScoreName, ...] = ("correct", "refused", "flagged", "expected")


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
    correct: Floats  # share of true documents, for counterfactual trials
    k: Ints
    slot: Ints  # position of the first document with an answer, or −1 if there is none
    seed: Ints
    repeat: Ints
    outcome: NDArray[np.str_]  # the outcome, or `infeasible`
    asked: Mask  # False for infeasible cases
    failed: Mask  # True for attempted cases without a response
    filtered: Mask  # True if the provider's content filter rejected the request
    truncated: Mask  # True if the response is incomplete
    is_empty: Mask  # True for a complete response without text
    dollars: Floats  # cost of all calls, including cached ones; NaN if it is unknown
    is_unpriced: Mask  # True for a response some of whose calls do not report their token usage
    headline: Ints  # index in SCORES of the score that makes the trial a success
    numbers: frozenset[str] = frozenset()  # the names of the scores that are not verdicts
    # For a run that was monitored (`--until`), the maximum number of planned trials per cluster and condition; else 0.
    largest: int = 0

    def of(self, testbed: str, arm: str = "related") -> Mask:
        """Return the trials of a testbed, including infeasible ones."""
        return np.asarray(self.kind == (self.kinds.index((testbed, arm)) if (testbed, arm) in self.kinds else -1))

    def split(self, mask: Mask, column: str) -> Iterator[tuple[Any, Mask]]:
        """Yield the distinct values in a column in ascending order, each with a mask of the trials that have it."""
        values = getattr(self, column)
        for value in np.unique(values[mask]).tolist():
            yield value, mask & (values == value)

    def conditions(self) -> Iterator[tuple[Condition, TrialColumns]]:
        """Yield the trials under each condition: testbed, distractors, noise ratio and numbers of documents."""
        keys = np.column_stack([self.kind, np.nan_to_num(self.noise, nan=-1.0), self.correct, self.k])
        _, place = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(place.ravel()[order])) + 1):
            (testbed, arm), noise = self.kinds[self.kind[rows[0]]], float(self.noise[rows[0]])
            mix = (None if np.isnan(noise) else noise, float(self.correct[rows[0]]), int(self.k[rows[0]]), arm)
            model, data, lang, profile = self.key
            yield Condition(model, data, lang, testbed, *mix, profile), self.restricted(rows)

    def has(self, name: str, scorer: str) -> bool:
        """Return whether any trial has the given score."""
        return full_name(name, scorer) in self.scores

    @property
    def is_silent(self) -> bool:
        """Return whether there were calls and all of them failed."""
        return bool(self.failed.any() and (self.failed == self.asked).all())

    def score(self, name: str, scorer: str) -> Floats:
        """Return the score of every trial: 0 for failed calls, NaN for infeasible cases and missing verdicts.

        If none of the model's responses has the score, it is also NaN for failed calls, unless all calls failed.
        """
        values = self.scores.get(full_name(name, scorer))
        if values is None and not self.is_silent:
            return np.full(len(self.item), nan)
        return np.where(self.failed, 0.0, nan if values is None else values)

    def additional(self, name: str) -> Floats:
        """Return a score that does not depend on the scorer, or NaN for trials without it."""
        return self.scores.get(name, np.full(len(self.item), nan))

    def present(self, names: Iterable[str], mask: Mask) -> Iterator[tuple[str, Floats]]:
        """Yield the scores that do not depend on the scorer and that any of the given trials has, with their names."""
        for name in names:
            values = self.additional(name)
            if np.isfinite(values[mask]).any():
                yield name, values

    def right(self, scorer: str) -> Floats:
        """Return the score that makes each trial a success, e.g. `refused` for negative rejection."""
        return np.select(
            [self.headline == at for at in range(len(SCORES))], [self.score(one, scorer) for one in SCORES]
        )

    def responded(self, scorer: str) -> Mask:
        """Return the trials with a usable response. On the robust scorer, truncated responses are excluded."""
        responded = self.asked & ~self.failed
        return responded & ~self.truncated if scorer == "robust" else responded

    def largest_planned(self, mask: Mask) -> int:
        """Return the maximum number of trials per cluster that a mask selects in the complete run, or 0 if unknown."""
        if not self.largest:
            return 0
        columns = (self.kind, np.nan_to_num(self.noise, nan=-1.0), self.correct, self.k)
        return self.largest * len(np.unique(np.stack([column[mask] for column in columns]), axis=1).T)

    def restricted(self, keep: Mask | Ints) -> TrialColumns:
        """Return the trials selected by a mask or by indices. Items and clusters keep their numbers."""
        columns = {name: getattr(self, name)[keep] for name in _ARRAYS}
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


_SHARED = ("key", "items", "kinds", "scores", "numbers", "largest")
_ARRAYS = [entry.name for entry in fields(TrialColumns) if entry.name not in _SHARED]


def _means(groups: Ints, mask: Mask, values: Floats, size: int) -> Floats:
    used = mask & np.isfinite(values)
    sums = np.bincount(groups[used], weights=values[used], minlength=size)
    counts = np.bincount(groups[used], minlength=size)
    return np.asarray(np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0))


def full_name(name: str, scorer: str) -> str:
    """Return the name of a score with its scorer's prefix."""
    return name if scorer == "robust" else f"{scorer}.{name}"


TrialOutcome: TypeAlias = Literal["ok", "truncated", "filtered", "error", "infeasible"]


class Trial(Struct, frozen=True, kw_only=True, gc=False):
    """A trial without its texts: condition, outcome and scores."""

    model: str
    data: str
    item: str
    lang: str
    testbed: str
    profile: str
    noise: float | None
    correct: float = 0.0  # share of true documents, for counterfactual cases
    k: int
    arm: str = "related"
    seed: int = 0
    slots: tuple[int, ...] = ()
    repeat: int = 0
    outcome: TrialOutcome = "ok"
    cluster: str | None = None  # the unit for resampling: the event that items share, or None for the item itself
    scores: Mapping[str, Value] | None = None  # scores by name, e.g. `code.correct`; None if there is no response


class _Numbers(dict[Any, int]):
    """Numbers values from 0 in order of first appearance."""

    def __missing__(self, value: object) -> int:
        self[value] = number = len(self)
        return number


# The columns of cases: `call` is a hash of the name and the rotation, `group` the dataset, language and profile.
_CASE = np.dtype(
    [("number", "i8"), ("call", "i8"), ("feasible", "?"), ("group", "i8"), ("noise", "f8"), ("correct", "f8")]
    + [(name, "i8") for name in ("k", "kind", "item", "cluster", "slot", "seed", "headline")]
)
# The columns of trials: `case` and `verdict` are indices of the cases and the verdicts of all runs.
_TRIAL = np.dtype(
    [(name, "i8") for name in ("label", "case", "repeat", "verdict")] + [("dollars", "f8"), ("is_unpriced", "?")]
)


class _Part(NamedTuple):
    """The cases and trials of one run, with a row for each, and by name the scores that are not verdicts."""

    cases: NDArray[Any]
    trials: NDArray[Any]
    measures: Mapping[str, Floats] = {}


class _Reader:
    """Reads trials into columns. Models, items, clusters and kinds have the same numbers in all parts."""

    def __init__(self) -> None:
        self.labels, self._groups, self._items, self._clusters, self._kinds = (_Numbers() for _ in range(5))
        self.parts: list[_Part] = []
        # The distinct verdicts: the outcome, whether the response is empty, and the scores by name.
        self._verdicts: list[tuple[str, bool, Mapping[str, Value]]] = [(_INFEASIBLE, False, {})]

    def _case(
        self, condition: Sequence[Any], item: str, event: str | None, slot: int, seed: int, headline: str
    ) -> tuple[Any, ...]:
        """Return the columns of a case, starting with `group`."""
        data, lang, testbed, noise, true_ratio, k, arm, profile = condition
        # The second part of an event's key is empty, so that it is never equal to that of an item.
        cluster = (data, item, None) if event is None else (data, "", event)
        mix = (self._groups[data, lang, profile], nan if noise is None else noise, true_ratio, k)
        places = (self._kinds[testbed, arm], self._items[data, item], self._clusters[cluster])
        return *mix, *places, slot, seed, SCORES.index(headline)

    def add_rows(self, rows: Iterable[Trial]) -> None:
        """Add trials that are not stored."""
        cases, trials = [], []
        for at, row in enumerate(rows):
            condition = (row.data, row.lang, row.testbed, row.noise, row.correct, row.k, row.arm, row.profile)
            slot, headline = row.slots[0] if row.slots else -1, headline_score(row.testbed, row.arm)
            case = self._case(condition, row.item, row.cluster, slot, row.seed, headline)
            cases.append((at, at, row.outcome != _INFEASIBLE, *case))
            trials.append((self.labels[row.model], at, row.repeat, len(self._verdicts), nan, False))
            self._verdicts.append((row.outcome, False, row.scores or {}))
        self.parts.append(_Part(np.array(cases, _CASE), np.array(trials, _TRIAL)))

    def add_run(self, table: TrialTable, labels: Labels | None, calls: Container[tuple[int, int, int]] | None) -> None:
        """Add the trials of a run, sorted by model, case and repeat (see `load_groups`)."""
        conditions = {number: values for number, *values in table.rows("conditions")}
        items = {number: (item, event) for number, _, item, event, *_ in table.rows("items")}
        stored = (
            (number, hash((name, rotation)), feasible, *self._case(conditions[condition], *items[item], *others))
            for number, name, condition, item, rotation, feasible, *others in table.rows("cases")
        )
        cases = np.fromiter(stored, _CASE)
        models = {number: name for number, (name, _) in table.store.models().items()}
        label = {number: self.labels[labels[table.folder, name] if labels else name] for number, name in models.items()}
        own = table.store.prices()
        prices = {number: own.get(name) or find_price(name) for number, name in models.items()}
        verdicts: dict[int, int] = {}
        for number, outcome, _, is_empty, found in table.rows("scores"):
            verdicts[number] = len(self._verdicts)
            self._verdicts.append((outcome, bool(is_empty), msgspec.json.decode(found)))
        measured: dict[str, tuple[array[int], array[float]]] = defaultdict(lambda: (array("q"), array("d")))

        def read() -> Iterator[tuple[Any, ...]]:
            rows = filter(lambda row: calls is None or row[1:4] in calls, table.rows("trials"))
            for at, (_, model, case, repeat, score, measures, usage) in enumerate(rows):
                found, total, steps = _read_measures(measures, usage)
                if self._verdicts[verdicts[score]][0] in ("ok", "truncated"):
                    for name, value in found.items():
                        places, values = measured[name]
                        places.append(at)
                        values.append(value)
                cost = usage_cost(steps or [total], prices[model]) if total else None
                dollars = nan if cost is None else float(cost)
                yield label[model], case, repeat, verdicts[score], dollars, not all(steps or [total])
            for case in cases["number"][~cases["feasible"]].tolist() if calls is None else ():
                yield from ((number, case, 0, 0, nan, False) for number in label.values())

        trials = np.fromiter(read(), _TRIAL)
        order = np.lexsort((trials["repeat"], trials["case"], trials["label"]))
        trials["case"] = np.searchsorted(cases["number"], trials["case"]) + sum(len(part.cases) for part in self.parts)
        measures = {}
        for name, (places, values) in measured.items():
            column = np.full(len(trials), nan)
            column[places] = values
            measures[name] = column[order]
        self.parts.append(_Part(cases, trials[order], measures))

    def groups(self, largest: int) -> Iterator[TrialColumns]:
        """Yield the trials by model, dataset, language and profile, in order of first appearance."""
        cases, trials = (np.concatenate([part[at] for part in self.parts]) for at in (0, 1))
        sizes = [len(part.trials) for part in self.parts]
        numbers = dict.fromkeys(name for part in self.parts for name in part.measures)
        measures = {
            name: np.concatenate(
                [part.measures.get(name, np.full(size, nan)) for part, size in zip(self.parts, sizes, strict=True)]
            )
            for name in numbers
        }
        outcomes, is_empty = (np.array([verdict[at] for verdict in self._verdicts]) for at in (0, 1))
        verdicts = _columns_of([scores for *_, scores in self._verdicts])
        labels, groups, items, kinds = map(list, (self.labels, self._groups, self._items, self._kinds))
        key = trials["label"] * len(groups) + cases["group"][trials["case"]]
        for number in dict.fromkeys(key.tolist()):
            rows = np.flatnonzero(key == number)
            trial = trials[rows]
            case, verdict, outcome = cases[trial["case"]], trial["verdict"], outcomes[trial["verdict"]]
            scores = {name: values[verdict] for name, values in verdicts.items()}
            scores |= {name: values[rows] for name, values in measures.items()}
            own_kinds, kind = np.unique(case["kind"], return_inverse=True)
            own_items, item = np.unique(case["item"], return_inverse=True)
            label, group = divmod(number, len(groups))
            yield TrialColumns(
                key=TrialGroup(labels[label], *groups[group]),
                items=tuple(items[one][1] for one in own_items.tolist()),
                kinds=tuple(kinds[one] for one in own_kinds.tolist()),
                scores={name: values for name, values in scores.items() if np.isfinite(values).any()},
                item=item,
                cluster=np.unique(case["cluster"], return_inverse=True)[1],
                kind=kind,
                outcome=outcome,
                asked=outcome != _INFEASIBLE,
                failed=np.isin(outcome, ("error", "filtered")),
                filtered=outcome == "filtered",
                truncated=outcome == "truncated",
                is_empty=is_empty[verdict],
                is_unpriced=trial["is_unpriced"] & np.isin(outcome, ("ok", "truncated")),
                numbers=frozenset(numbers),
                largest=largest,
                **{name: case[name].copy() for name in ("noise", "correct", "k", "slot", "seed", "headline")},
                **{name: trial[name].copy() for name in ("repeat", "dollars")},
            )


def _columns_of(verdicts: Sequence[Mapping[str, Value]]) -> dict[str, Floats]:
    """Return a column for each score with numbers, and one for each cause."""
    numbers = [
        {name: float(value) for name, value in scores.items() if isinstance(value, int | float)}
        | ({f"{CAUSE}{scores['cause']}": 1.0} if scores.get("cause") else {})
        for scores in verdicts
    ]
    names = dict.fromkeys(name for found in numbers for name in found)
    return {name: np.array([found.get(name, nan) for found in numbers]) for name in names}


@lru_cache(maxsize=1_024)  # most responses of an in-process model have the same measures
def _read_measures(
    measures: str | None, usage: str | None
) -> tuple[dict[str, float], dict[str, int], list[dict[str, int]]]:
    """Return the scores that are not verdicts with the numbers of calls and tokens, and the usage of each call."""
    total, *steps = [one or {} for one in msgspec.json.decode(usage)] if usage else [{}]
    tokens = {f"tokens_{name}": total[name] for name in ("in", "out") if name in total}
    found = {"calls": max(1, len(steps)), **tokens, **(msgspec.json.decode(measures) if measures else {})}
    return found, total, steps


def group_rows(trials: Iterable[Trial], largest: int = 0) -> list[TrialColumns]:
    """Group trials by model, dataset, language and profile; `largest` as in `TrialColumns`."""
    reader = _Reader()
    reader.add_rows(trials)
    return list(reader.groups(largest))


def load_groups(
    tables: Sequence[TrialTable], labels: Labels | None = None, calls: Container[tuple[int, int, int]] | None = None
) -> list[TrialColumns]:
    """Read the trials of one or more runs by model, dataset, language and profile.

    Args:
        tables: The tables of the runs.
        labels: The labels under which the models are counted (see `RowNames`); by default, the model strings.
        calls: The trials to read, as model number, case number and repeat; by default all, and infeasible cases.

    Raises:
        UsageError: Two runs contain the same call.
    """
    reader = _Reader()
    for table in tables:
        table.read(partial(reader.add_run, table, labels, calls))
    _check_distinct(tables, reader)
    return list(reader.groups(max(table.largest_cluster() for table in tables)))


def _check_distinct(tables: Sequence[TrialTable], reader: _Reader) -> None:
    """Check that no call is in two runs."""
    seen, first, labels = np.empty(0, np.int64), 0, list(reader.labels)
    for table, (cases, trials, _) in zip(tables, reader.parts, strict=True) if len(tables) > 1 else ():
        made = trials[trials["verdict"] > 0]
        case = cases[made["case"] - first]
        # Hashes, because the names of a million cases would need too much memory.
        calls = made["label"] * 1_000_003 ^ (case["call"] * 31 + made["repeat"])
        if len(again := np.flatnonzero(np.isin(calls, seen))):
            name = next(name for number, name, *_ in table.rows("cases") if number == case["number"][again[0]])
            raise UsageError(
                f"{table.folder} and another of these runs contain the same call ({labels[made['label'][again[0]]]} on "
                f"{name}). Use only one of the two runs."
            )
        seen, first = np.append(seen, calls), first + len(cases)

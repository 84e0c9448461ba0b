"""The trials of one model on one dataset as columns, from which metrics are computed."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from itertools import islice
from math import nan
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError
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
_BATCH = 20_000  # number of trials that are read at once
SCORES: tuple[ScoreName, ...] = ("correct", "refused", "flagged")  # verdicts that all scorers have


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

    def conditions(self) -> list[Ints]:
        """Return the trials of each kind, noise ratio, share of true documents and number of documents."""
        keys = np.column_stack([self.kind, np.nan_to_num(self.noise, nan=-1.0), self.correct, self.k])
        _, place = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        return np.split(order, np.flatnonzero(np.diff(place.ravel()[order])) + 1)

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
        conditions = np.unique(np.stack([column[mask] for column in columns]), axis=1)
        return self.largest * len(conditions.T)

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


class _Numbers(dict[Any, int]):
    """Numbers values from 0 in order of first appearance."""

    def __missing__(self, value: object) -> int:
        self[value] = number = len(self)
        return number


class Numbering:
    """The numbers of groups, items, clusters and kinds of trials, which the parts of one table share."""

    def __init__(self) -> None:
        self.groups, self.items, self.clusters, self.kinds = _Numbers(), _Numbers(), _Numbers(), _Numbers()


class CaseColumns:
    """The columns of cases, which are added one by one.

    Args:
        shared: The numbering of the table that the cases belong to.
    """

    def __init__(self, shared: Numbering) -> None:
        self._shared, self._groups, self._rows = shared, _Numbers(), array("d")

    def add(self, number: int, condition: tuple[Any, ...], item: tuple[str, str | None], case: tuple[Any, ...]) -> None:
        """Add a case.

        Args:
            number: Its number, which is higher than that of the case before.
            condition: Dataset, language, testbed, noise ratio, share of true documents, number of documents, distractor
                condition and profile.
            item: Name of its item, and the event that the item is about.
            case: Position of the first document with an answer, seed, actual noise ratio, whether it is feasible, and
                its main score.
        """
        (data, lang, testbed, noise, true_ratio, k, arm, profile), (name, event) = condition, item
        slot, seed, noise_real, feasible, headline = case
        # The second part of an event's key is empty, so that it is never equal to that of an item.
        cluster = (data, name, None) if event is None else (data, "", event)
        places = self._shared.items[data, name], self._shared.clusters[cluster], self._shared.kinds[testbed, arm]
        shares = (nan if share is None else share for share in (noise, noise_real))
        group = self._groups[data, lang, profile]
        self._rows.extend(
            (number, group, feasible, *places, k, slot, seed, SCORES.index(headline), *shares, true_ratio)
        )

    @property
    def groups(self) -> list[tuple[str, str, str]]:
        """The datasets, languages and profiles to which the numbers in the column `group` refer."""
        return list(self._groups)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of the cases."""
        whole = ("number", "group", "feasible", "item", "cluster", "kind", "k", "slot", "seed", "headline")
        shares = ("noise", "noise_real", "correct")
        wide = np.array(self._rows).reshape(-1, len(whole) + len(shares))
        columns = {name: wide[:, at].astype(np.int64) for at, name in enumerate(whole)}
        return columns | {name: wide[:, len(whole) + at] for at, name in enumerate(shares)}


class VerdictColumns:
    """The distinct combinations of an outcome and verdicts; the last row stands for infeasible cases.

    Args:
        rows: The outcome, whether the response is empty, and the scores by name.
    """

    def __init__(self, rows: Sequence[tuple[str, bool, Mapping[str, object]]]) -> None:
        self.outcomes = np.array([*(outcome for outcome, _, _ in rows), _INFEASIBLE])
        self.is_empty = np.array([*(is_empty for _, is_empty, _ in rows), False], np.bool_)
        numbers = [
            {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
            for *_, values in rows
        ]
        names = dict.fromkeys(name for found in numbers for name in found)
        self.columns = {name: np.array([*(found.get(name, nan) for found in numbers), nan]) for name in names}
        causes = [values.get("cause") for *_, values in rows]
        for cause in dict.fromkeys(filter(None, causes)):
            self.columns[f"{CAUSE}{cause}"] = np.array([*(float(one == cause) for one in causes), nan])


@dataclass(frozen=True)
class TrialPart:
    """The trials of one run, with an entry for each in every column.

    Attributes:
        labels: The labels under which the models are counted.
        model: The model of each trial, as an index in `labels`.
        case: Its case, as an index in `cases`.
        score: Its verdicts, as an index in `verdicts`.
        measures: By name, the trials that have a score that is not a verdict, and its values.
    """

    cases: CaseColumns
    verdicts: VerdictColumns
    labels: Sequence[str]
    model: Ints
    case: Ints
    repeat: Ints
    score: Ints
    dollars: Floats
    is_unpriced: Mask
    measures: dict[str, tuple[Ints, Floats]] = field(default_factory=dict)

    def with_infeasible(self) -> TrialPart:
        """Return the part with each infeasible case once for each model, before the trials."""
        cases = np.flatnonzero(self.cases.columns["feasible"] == 0)
        count, models = len(cases) * len(self.labels), np.arange(len(self.labels))
        return replace(
            self,
            model=np.concatenate([np.tile(models, len(cases)), self.model]),
            case=np.concatenate([np.repeat(cases, len(self.labels)), self.case]),
            repeat=np.concatenate([np.zeros(count, np.int64), self.repeat]),
            score=np.concatenate([np.full(count, -1), self.score]),
            dollars=np.concatenate([np.full(count, nan), self.dollars]),
            is_unpriced=np.concatenate([np.zeros(count, np.bool_), self.is_unpriced]),
            measures={name: (places + count, values) for name, (places, values) in self.measures.items()},
        )

    def columns(self, rows: Ints) -> dict[str, Any]:
        """Return the columns of the given trials."""
        case, score = self.case[rows], self.score[rows]
        outcome = self.verdicts.outcomes[score]
        return {name: values[case] for name, values in self.cases.columns.items() if name in _ARRAYS} | {
            "repeat": self.repeat[rows],
            "outcome": outcome,
            "asked": outcome != _INFEASIBLE,
            "failed": np.isin(outcome, ("error", "filtered")),
            "filtered": outcome == "filtered",
            "truncated": outcome == "truncated",
            "is_empty": self.verdicts.is_empty[score],
            "dollars": self.dollars[rows],
            "is_unpriced": self.is_unpriced[rows] & np.isin(outcome, ("ok", "truncated")),
        }

    def scores(self, rows: Ints) -> dict[str, Floats]:
        """Return the scores of the given trials; scores that none of them has are omitted."""
        found = {name: values[self.score[rows]] for name, values in self.verdicts.columns.items()}
        for name, (places, values) in self.measures.items():
            column = np.full(len(self.case), nan)
            column[places] = values
            found[name] = column[rows]
        return {name: values for name, values in found.items() if np.isfinite(values).any()}

    def groups(self, shared: Numbering) -> Ints:
        """Return the number of each trial's group."""
        size = len(self.cases.groups)
        of_run, first, place = np.unique(
            self.model * size + self.cases.columns["group"][self.case], return_index=True, return_inverse=True
        )
        numbers = np.zeros(len(of_run), np.int64)
        for at in np.argsort(first).tolist():
            model, group = divmod(int(of_run[at]), size)
            numbers[at] = shared.groups[TrialGroup(self.labels[model], *self.cases.groups[group])]
        return numbers[place]


def group_trials(parts: Sequence[TrialPart], shared: Numbering, largest: int = 0) -> list[TrialColumns]:
    """Group the trials of all parts by model, dataset, language and profile, in order of first appearance.

    Args:
        parts: The parts.
        shared: Their numbering.
        largest: For a monitored run, the maximum number of planned trials per cluster and condition.
    """
    groups = [part.groups(shared) for part in parts]
    numbers, found = frozenset(name for part in parts for name in part.measures), []
    for number, key in enumerate(list(shared.groups)):
        rows = [np.flatnonzero(group == number) for group in groups]
        size = sum(map(len, rows))
        columns = [part.columns(at) for part, at in zip(parts, rows, strict=True)]
        own: dict[str, Any] = {name: np.concatenate([column[name] for column in columns]) for name in columns[0]}
        del columns  # a million trials would need twice the memory
        scores: dict[str, Floats] = {}
        start = 0
        for part, at in zip(parts, rows, strict=True):
            for name, values in part.scores(at).items():
                scores.setdefault(name, np.full(size, nan))[start : start + len(at)] = values
            start += len(at)
        names = {name: _renumber(own, name, known) for name, known in vars(shared).items() if name != "groups"}
        items = tuple(item for _, item in names["items"])
        kinds = tuple(names["kinds"])
        found.append(TrialColumns(key, items, kinds, scores, numbers=numbers, largest=largest, **own))
    return found


def _renumber(columns: dict[str, Any], name: str, known: _Numbers) -> list[Any]:
    """Number the values of a column from 0, and return the values to which the numbers refer."""
    used, columns[name[:-1]] = np.unique(columns[name[:-1]], return_inverse=True)
    every = list(known)
    return [every[number] for number in used.tolist()]


def load_groups(tables: Sequence[TrialTable], labels: Labels | None = None, largest: int = 0) -> list[TrialColumns]:
    """Read the trials of one or more runs, including infeasible cases, grouped as in `group_trials`.

    Args:
        tables: The tables of the runs.
        labels: The labels under which the models are counted (see `RowNames`); by default, the model strings.
        largest: For a monitored run, the maximum number of planned trials per cluster and condition.

    Raises:
        UsageError: Two runs contain the same call.
    """
    shared = Numbering()
    parts = [table.read(partial(read_part, table, shared, labels)) for table in tables]
    _check_distinct(tables, parts)
    parts = [part.with_infeasible() for part in parts]  # replaces the parts, which a million trials have no room for
    return group_trials(parts, shared, largest)


def read_part(
    table: TrialTable,
    shared: Numbering,
    labels: Labels | None = None,
    calls: Container[tuple[int, int, int]] | None = None,
) -> TrialPart:
    """Read the trials of a run by model, case and repeat.

    Args:
        table: The run's table.
        shared: The numbering of the groups to which the trials will belong.
        labels: The labels under which the models are counted; by default, the model strings.
        calls: The trials to read, as model number, case number and repeat; None for all.
    """
    models = table.store.models()
    cases = _read_cases(table, shared)
    scores = list(table.rows("scores"))
    verdicts = VerdictColumns(
        [(outcome, bool(is_empty), msgspec.json.decode(found)) for _, outcome, _, is_empty, found in scores]
    )
    answered = {number for number, outcome, *_ in scores if outcome in ("ok", "truncated")}
    own = table.store.prices()
    prices = {number: own.get(name) or find_price(name) for number, (name, _) in models.items()}
    numbers = [array("q") for _ in range(4)]  # the model, case, repeat and score of each trial
    dollars, is_unpriced = array("d"), array("b")
    measured: dict[str, tuple[array[int], array[float]]] = defaultdict(lambda: (array("q"), array("d")))
    rows = table.rows("trials")
    while batch := list(islice(rows, _BATCH)):
        kept = batch if calls is None else [row for row in batch if row[1:4] in calls]
        for at, (*_, of_model, _, _, of_score, measures, usage) in enumerate(kept, len(dollars)):
            found, total, steps = _read_measures(measures, usage)
            for name, value in found.items() if of_score in answered else ():
                places, values = measured[name]
                places.append(at)
                values.append(value)
            cost = usage_cost(steps or [total], prices[of_model]) if total else None
            dollars.append(nan if cost is None else float(cost))
            is_unpriced.append(not all(steps or [total]))
        for column, whole in zip(numbers, [*zip(*kept, strict=True)][1:5], strict=False):  # none if no row is kept
            column.extend(whole)
    model, case, repeat, score = map(np.array, numbers)
    order = np.lexsort((repeat, case, model))
    rank = np.argsort(order)
    return TrialPart(
        cases=cases,
        verdicts=verdicts,
        labels=[name if labels is None else labels[table.folder, name] for name, _ in models.values()],
        model=np.searchsorted(np.array(list(models), np.int64), model[order]),
        case=np.searchsorted(cases.columns["number"], case[order]),
        repeat=repeat[order],
        score=np.searchsorted(np.array([number for number, *_ in scores], np.int64), score[order]),
        dollars=np.array(dollars)[order],
        is_unpriced=np.array(is_unpriced, np.bool_)[order],
        measures={name: (rank[np.array(places)], np.array(values)) for name, (places, values) in measured.items()},
    )


def _read_cases(table: TrialTable, shared: Numbering) -> CaseColumns:
    conditions = {number: tuple(values) for number, *values in table.rows("conditions")}
    items = {number: (item, event) for number, _, item, event, *_ in table.rows("items")}
    cases = CaseColumns(shared)
    for number, _, condition, item, slot, seed, _, *others in table.rows("cases"):
        cases.add(number, conditions[condition], items[item], (slot, seed, *others))
    return cases


@lru_cache(maxsize=1_024)  # most responses of a model that runs in this process have the same
def _read_measures(
    measures: str | None, usage: str | None
) -> tuple[dict[str, float], dict[str, int], list[dict[str, int]]]:
    """Return the scores that are not verdicts with the numbers of calls and tokens, and the usage of each call."""
    total, *steps = [one or {} for one in msgspec.json.decode(usage)] if usage else [{}]
    tokens = {f"tokens_{name}": total[name] for name in ("in", "out") if name in total}
    found = {"calls": max(1, len(steps)), **tokens, **(msgspec.json.decode(measures) if measures else {})}
    return found, total, steps


def _check_distinct(tables: Sequence[TrialTable], parts: Sequence[TrialPart]) -> None:
    """Check that no call is in two runs."""
    seen: set[int] = set()  # hashes, because the names of a million cases would need too much memory
    for table, part in zip(tables, parts, strict=True) if len(parts) > 1 else ():
        labels = np.array([hash(label) >> 1 for label in part.labels], np.int64)
        rows = table.rows("cases")
        cases = np.array([hash((name, rotation)) >> 1 for _, name, *_, rotation, _, _, _ in rows], np.int64)
        calls = labels[part.model] ^ (cases[part.case] * 31 + part.repeat)
        for at, call in enumerate(calls.tolist()):
            if call in seen:
                name = next(islice(table.rows("cases"), int(part.case[at]), None))[1]
                raise UsageError(
                    f"{table.folder} and another of these runs contain the same call ({part.labels[part.model[at]]} on "
                    f"{name}). Use only one of the two runs."
                )
        seen.update(calls.tolist())


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
    noise_real: float | None = None
    correct: float = 0.0  # share of true documents, for counterfactual cases
    k: int
    arm: str = "related"
    seed: int = 0
    slots: tuple[int, ...] = ()
    repeat: int = 0
    outcome: TrialOutcome = "ok"
    cluster: str | None = None  # the unit for resampling: the event that items share, or None for the item itself
    scores: Mapping[str, Value] | None = None  # scores by name, e.g. `code.correct`; None if there is no response


def group_rows(trials: Iterable[Trial], largest: int = 0) -> list[TrialColumns]:
    """Group trials by model, dataset, language and profile (see `group_trials`)."""
    shared = Numbering()
    cases = CaseColumns(shared)
    models: dict[str, int] = {}
    rows = list(trials)
    for number, trial in enumerate(rows):
        mix = (trial.noise, trial.correct, trial.k, trial.arm)
        slot = trial.slots[0] if trial.slots else -1
        real = None if trial.noise_real is None else round(trial.noise_real, 3)
        feasible, headline = trial.outcome != "infeasible", headline_score(trial.testbed, trial.arm)
        condition = (trial.data, trial.lang, trial.testbed, *mix, trial.profile)
        case = (slot, trial.seed, real, feasible, headline)
        cases.add(number, condition, (trial.item, trial.cluster), case)
    part = TrialPart(
        cases=cases,
        verdicts=VerdictColumns([(trial.outcome, False, trial.scores or {}) for trial in rows]),
        labels=list(dict.fromkeys(trial.model for trial in rows)),
        model=np.array([models.setdefault(trial.model, len(models)) for trial in rows], np.int64),
        case=np.arange(len(rows)),
        repeat=np.array([trial.repeat for trial in rows], np.int64),
        score=np.arange(len(rows)),
        dollars=np.full(len(rows), nan),
        is_unpriced=np.zeros(len(rows), np.bool_),
    )
    return group_trials([part], shared, largest)

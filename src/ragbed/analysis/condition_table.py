"""Tabulate a run by condition for the overview that `ragbed run` and `ragbed demo` print.

The rates have the same values and intervals as the cells of a report (`metrics/`). They are computed here from small
counts, without numpy, because loading it takes longer than scoring a small run.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from operator import add, itemgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, get_args

from msgspec import Struct, structs

from ragbed.analysis.statistics.rates import ALPHA, Interval, clustered_wilson
from ragbed.runs.condition import Condition, condition_of, largest_cluster
from ragbed.runs.decided import DecidedInterval, decided_by_score, narrow, read_decided
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.scoring import open_scored, spread_results
from ragbed.runs.store import RunStore, StoredResult, open_store
from ragbed.schema import Case, Outcome
from ragbed.testbeds import TESTBEDS

if TYPE_CHECKING:
    from ragbed.scoring.value import Value

_SCORES = ("correct", "refused", "flagged")
_NAMES = (*(f"{track}{name}" for track in ("paper.", "code.", "") for name in _SCORES), "misled", "unsure")
_MAX_QUEUED = 1_000  # Maximum number of results waiting to be scored; with RGB's documents, they take 15 MB.
_EARLY = 20_000  # Maximum number of results to score during the run; the others are scored in parallel afterwards.
_READ = 64  # Number of results from earlier sessions to read at a time.
_STEP = 2  # Number of results to score in one step between responses; a step takes about half a millisecond.


class Rate(NamedTuple):
    """The mean of a score with its confidence interval. `n` includes failed calls, which count as 0.

    `questions` is the number of independent questions behind the rate; those about the same event count as one.
    `unsure` is set only for the robust accuracy: the number of responses that the rules cannot classify.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    questions: int = 0
    unsure: int = 0


class ConditionCounts(Struct):
    """The outcome counts and rates for one model under one condition.

    `planned` exceeds `asked` while a run is unfinished. `empty` is the number of `ok` responses without text.
    `unscored` is the number of responses whose gold answer cannot be matched; they are excluded from the robust
    accuracy. `questions` is the number of independent questions with results; those about the same event count as one.
    """

    condition: Condition
    planned: int = 0
    asked: int = 0
    questions: int = 0
    ok: int = 0
    truncated: int = 0
    filtered: int = 0
    error: int = 0
    empty: int = 0
    unscored: int = 0
    rates: dict[str, Rate] = {}

    def rate(self, name: str) -> float:
        """Return the rate of a score, e.g. `code.correct`; failed cases count as 0."""
        found = self.rates.get(name)
        return (found.value or 0.0) if found else 0.0

    def as_json(self) -> dict[str, object]:
        """Return the counts and rates as a JSON-compatible dictionary; rates without scored responses are None."""
        names = ("planned", "asked", "questions", "ok", "truncated", "filtered", "error", "empty", "unscored")
        counts = {name: getattr(self, name) for name in names}
        hits = {name: round(self.rate(name) * self.rates[name].n) if name in self.rates else 0 for name in _NAMES}
        values = {name: self.rates[name].value if name in self.rates else None for name in _NAMES}
        rates = {name: None if value is None else round(value, 6) for name, value in values.items()}
        intervals = {name: [one.low, one.high] for name, one in self.rates.items()}
        return structs.asdict(self.condition) | counts | {"hits": hits, "rates": rates, "intervals": intervals}


def tabulate_run(folder: Path, engine: Engine | None = None) -> list[ConditionCounts]:
    """Tabulate a run by condition.

    Args:
        folder: Folder of the run.
        engine: Engine that scores the responses; None to score them in this process. The result is the same.
    """
    used = engine or LocalEngine()
    try:
        with open_scored(folder) as store:
            tally, rows, seals = _Tally(), 0, 0
            for part in spread_results(store, folder, used, _tally):
                rows, seals = rows + part.rows, seals + part.seals
                tally.merge(part.found)
            # If results arrived during this loop, the counts are inconsistent, so read everything again in one pass.
            is_complete = store.is_whole(rows, seals)
            return _add_planned(tally if is_complete else _tally(store.results()), store)
    finally:
        if engine is None:
            used.close()


class EarlyTable:
    """A `Follower` that builds a run's table while the run waits for responses; the stored results are authoritative.

    The store is opened only while it is being read. The last process that closes the store merges the log into the
    file, so a reader that kept it open would prevent this.

    Args:
        folder: Folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._before = folder, 0
        self._queue: deque[tuple[StoredResult, int]] = deque()  # results from this session, with their checksums
        self._earlier: deque[tuple[StoredResult, int]] = deque()
        self._tally: _Tally | None = _Tally()  # None if scoring failed
        self._last, self._rows, self._seals = 0, 0, 0
        self._first: list[Case] = []  # the run's first case, with which the scorer is loaded

    def begin(self, store: RunStore) -> None:
        """Record which results are already stored, so that they are scored too (see `Follower`)."""
        self._before = store.last_result()
        self._first = [case for _, case in store.cases_after(0, 1)]

    def take(self, result: StoredResult, seal: int) -> None:
        """Queue a result (see `Follower`). If the queue is full, score some of the results now."""
        self._queue.append((result, seal))
        if len(self._queue) > _MAX_QUEUED:
            self.go_on()

    def load(self) -> None:
        """Load the scorer, which takes 50 ms, while the run waits for the first responses (see `Follower`)."""
        with suppress(Exception):  # `go_on` handles all errors of the scorer
            for case in self._first:
                _scoring().score(case, "".join(alias for aliases in case.answer[:1] for alias in aliases[:1]))

    def go_on(self) -> bool:
        """Score a few results, and return whether there was any work (see `Follower`)."""
        if self._tally is None or self._rows >= _EARLY:
            self._queue.clear()
            return False
        try:
            source = self._queue or self._earlier or self._read_earlier()
            batch = [source.popleft() for _ in range(min(_STEP, len(source)))]
            for result, seal in batch:
                self._tally.add(result)
                self._rows, self._seals = self._rows + 1, self._seals + seal
        except Exception:  # Responses that cost money must still be stored. `finish` scores again and raises the error.
            self._tally = None
            return False
        return bool(batch)

    def finish(self, engine: Engine | None = None) -> list[ConditionCounts]:
        """Return the table of the finished run; the engine scores the results unless all were scored during the run."""
        while self.go_on():
            pass
        if self._tally is not None:
            with open_store(self._folder, create=False) as store:
                if store.is_whole(self._rows, self._seals):
                    return _add_planned(self._tally, store)
        return tabulate_run(self._folder, engine)

    def _read_earlier(self) -> deque[tuple[StoredResult, int]]:
        if self._last < self._before:
            with open_store(self._folder, create=False) as store:
                found = [row for row in store.results_after(self._last, _READ) if row[0] <= self._before]
            self._last = found[-1][0] if found else self._before
            self._earlier.extend((result, seal) for _, result, seal in found)
        return self._earlier


# For each question: the sum of each score, the number of responses with each score, and the number of failed calls.
_Sums: TypeAlias = tuple[float, ...]
_FAILED: _Sums = (*[0] * 2 * len(_NAMES), 1)
_HAS_CORRECT = len(_NAMES) + _NAMES.index("correct")
_OUTCOMES: tuple[str, ...] = get_args(Outcome)


_marks_of = itemgetter(*_NAMES)


@cache
def _scoring() -> ModuleType:
    return import_module("ragbed.scoring")  # slow to import and not needed for the first calls


def _sums_of(marks: tuple[Value, ...]) -> _Sums:
    """Return the values that one response adds to the sums, given its scores."""
    return (*(float(mark or 0) for mark in marks), *(mark is not None for mark in marks), 0)  # type: ignore[arg-type]


class _Tally:
    """Adds up scores by condition and question as results arrive one by one."""

    def __init__(self) -> None:
        self._sums: dict[Condition, dict[tuple[str, str | None], _Sums]] = defaultdict(dict)
        self._outcomes: dict[Condition, Counter[str]] = defaultdict(Counter)
        # Many questions have equal sums, so each distinct tuple is stored only once.
        self._shared: dict[_Sums, _Sums] = {}
        self._sums_of: dict[tuple[Value, ...], _Sums] = {}

    def add(self, result: StoredResult) -> None:
        """Score a result and add it to the sums."""
        case, completion, sums = result.case, result.completion, _FAILED
        values = _scoring().score_outcome(case, completion)
        if values is not None:
            marks = _marks_of(values)
            known = self._sums_of.get(marks)  # cached, because few combinations of scores occur
            sums = self._sums_of.setdefault(marks, _sums_of(marks)) if known is None else known
        condition = condition_of(result.model, case)
        self._outcomes[condition][completion.outcome] += 1
        if completion.outcome == "ok" and not (completion.reply or "").strip():
            self._outcomes[condition]["empty"] += 1
        # Items about the same event are not independent, so they share a key. The first part of an event's key is
        # empty, so that the event never shares a key with an unrelated item of the same name.
        self._add(condition, ("", case.event) if case.event is not None else (case.item, None), sums)

    def merge(self, other: _Tally) -> None:
        for condition, clusters in other._sums.items():
            self._outcomes[condition] += other._outcomes[condition]
            for cluster, sums in clusters.items():
                self._add(condition, cluster, sums)

    def _add(self, condition: Condition, cluster: tuple[str, str | None], sums: _Sums) -> None:
        clusters = self._sums[condition]
        known = clusters.get(cluster)
        total = sums if known is None else tuple(map(add, known, sums))
        clusters[cluster] = self._shared.setdefault(total, total)

    def rows(self, largest: int) -> Iterator[ConditionCounts]:
        """Yield the counts and rates for each condition; for `largest`, see `rate_interval`."""
        named = self._scored_names()
        for condition, clusters in self._sums.items():
            outcomes = self._outcomes[condition]
            names = _NAMES if outcomes["ok"] + outcomes["truncated"] == 0 else named[_group(condition)]
            counts = Counter(clusters.values())
            found = {name: _find(at, counts, counts_failed=name in names) for at, name in enumerate(_NAMES)}
            rates = {name: _rate(parts, largest) for name, parts in found.items()}
            unsure = sum(hits * count for hits, _, count in found["unsure"])
            rates["correct"] = rates["correct"]._replace(unsure=int(unsure))
            counted = {name: outcomes[name] for name in _OUTCOMES}
            scored = sum(sums[_HAS_CORRECT] * count for sums, count in counts.items())
            unscored = int(outcomes["ok"] + outcomes["truncated"] - scored)
            counted |= {"asked": sum(counted.values()), "empty": outcomes["empty"], "unscored": unscored}
            counted["questions"] = len(clusters)
            yield ConditionCounts(condition, **counted, rates=rates)

    def _scored_names(self) -> dict[tuple[str, ...], set[str]]:
        """Return the score names for each model and dataset; failed calls count as 0 only for these scores."""
        found: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for condition, clusters in self._sums.items():
            for sums in set(clusters.values()):
                found[_group(condition)].update(name for at, name in enumerate(_NAMES) if sums[len(_NAMES) + at])
        return found


def _group(condition: Condition) -> tuple[str, ...]:
    return condition.model, condition.data, condition.lang, condition.profile


def _find(at: int, counts: Counter[_Sums], *, counts_failed: bool) -> list[tuple[float, float, int]]:
    """Return the distinct (hits, trials) pairs for the score at index `at`, each with its number of questions."""
    return [
        (sums[at], size, count)
        for sums, count in counts.items()
        if (size := sums[len(_NAMES) + at] + (sums[-1] if counts_failed else 0))
    ]


def _rate(found: list[tuple[float, float, int]], largest: int) -> Rate:
    if not found:
        return Rate(None, None, None, 0)
    hits, trials, clusters = zip(*found, strict=True)
    n = sum(size * count for _, size, count in found)
    return Rate(*rate_interval(hits, trials, clusters, largest), int(n), sum(clusters))


def rate_interval(hits: Sequence[float], trials: Sequence[float], counts: Sequence[int], largest: int) -> Interval:
    """Return a rate with its confidence interval.

    Args:
        hits: The sum of the score for a question.
        trials: The number of trials for the same question.
        counts: The number of questions with these values.
        largest: The maximum number of trials per question if the run was monitored, or 0 if it was not.
    """
    if not largest:
        return clustered_wilson(hits, trials, counts=counts)
    from ragbed.analysis.statistics.sequential import rate_sequence  # noqa: PLC0415 - it loads numpy

    return rate_sequence(hits, trials, counts, largest=largest)


def _tally(results: Iterable[StoredResult]) -> _Tally:
    tally = _Tally()
    for result in results:
        tally.add(result)
    return tally


def _add_planned(tally: _Tally, store: RunStore) -> list[ConditionCounts]:
    """Return the rows of all conditions, including those without results, with the number of planned trials."""
    repeats = store.repeats()
    largest = largest_cluster(store.cases(), repeats) if store.is_monitored() else 0
    rows = {row.condition: row for row in tally.rows(largest)}
    if store.is_monitored():
        _narrow(rows, read_decided(store))
    is_complete = sum(row.asked for row in rows.values()) >= len(store.models()) * store.size(repeats)
    for row in rows.values():
        row.planned = row.asked if is_complete else 0
    models = [] if is_complete else [name for name, _ in store.models().values()]
    for case in store.cases() if models else ():
        for model in models if case.feasible else ():
            condition = condition_of(model, case)
            rows.setdefault(condition, ConditionCounts(condition)).planned += repeats
    return sorted(rows.values(), key=_order)


def _narrow(rows: Mapping[Condition, ConditionCounts], decided: Sequence[DecidedInterval]) -> None:
    """Intersect the intervals with those on which the run's stopping decisions are based (see `runs.decided`)."""
    for (condition, name), found in decided_by_score(rows, decided).items():
        rate = rows[condition].rates.get(name)
        if rate is not None and rate.value is not None and rate.low is not None and rate.high is not None:
            low, high = narrow((rate.value, rate.low, rate.high), found, ALPHA)
            rows[condition].rates[name] = rate._replace(low=low, high=high)


_TESTBED_ORDER = {name: position for position, name in enumerate(TESTBEDS)}


def _order(row: ConditionCounts) -> tuple[str | float, ...]:
    """Return the sort key for a row; plug-in testbeds come last."""
    at = row.condition
    testbed = _TESTBED_ORDER.get(at.testbed, len(_TESTBED_ORDER)), at.testbed
    return at.model, at.data, *testbed, at.lang, at.noise or 0, at.profile, at.arm, at.k, at.correct

"""Tabulate a run by condition: the overview that `ragbed run`, `score` and `demo` print.

The rates come from the columns and the estimator of every other table (`metrics/`), so all commands and the Python API
show the same numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec import structs

from ragbed.analysis.metrics.cells import CellBuilder
from ragbed.analysis.metrics.trial import Scored, to_scored
from ragbed.analysis.metrics.trial_columns import TRACKS, TrialColumns, TrialGroups, full_name, group_trials
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.scoring import open_scored, spread_results
from ragbed.runs.store import RunStore, StoredResult, open_store
from ragbed.schema import Estimate
from ragbed.scoring import score
from ragbed.testbeds import TESTBEDS

_SCORES = ("correct", "refused", "flagged")
_RATES = (
    *((name, track) for track in reversed(TRACKS) for name in _SCORES),
    ("misled", "robust"),
    ("unsure", "robust"),
)
_NAMES = [full_name(*rate) for rate in _RATES]
_EARLY = 20_000  # Results that are scored during the run; an engine scores the rest in parallel.
_READ = 64  # Results of earlier sessions that are read at a time.
_STEP = 8  # Results that are scored in one step between responses: about a millisecond.


@dataclass
class ConditionCounts:
    """The outcome counts and rates of one model under one condition.

    `planned` exceeds `asked` while a run is unfinished. `unscored` responses have a gold answer that cannot be matched;
    they are excluded from the robust accuracy.
    """

    condition: Condition
    planned: int = 0
    asked: int = 0
    ok: int = 0
    refused: int = 0
    error: int = 0
    unscored: int = 0
    rates: dict[str, Estimate] = field(default_factory=dict)

    def rate(self, name: str) -> float:
        """Return the rate of a score, e.g. `code.correct`; failed cases count as 0."""
        found = self.rates.get(name)
        return (found.value or 0.0) if found else 0.0

    def as_json(self) -> dict[str, object]:
        """Return counts and rates as plain values."""
        counts = {name: getattr(self, name) for name in ("planned", "asked", "ok", "refused", "error", "unscored")}
        hits = {name: round(self.rate(name) * self.rates[name].n) if name in self.rates else 0 for name in _NAMES}
        rates = {name: round(self.rate(name), 6) for name in _NAMES}
        intervals = {name: [one.low, one.high] for name, one in self.rates.items()}
        return structs.asdict(self.condition) | counts | {"hits": hits, "rates": rates, "intervals": intervals}


def tabulate_run(folder: Path, engine: Engine | None = None) -> list[ConditionCounts]:
    """Tabulate a run by condition.

    Args:
        folder: Folder of the run.
        engine: Engine that scores the responses; this machine if None. The result does not depend on it.
    """
    used = engine or LocalEngine()
    try:
        with open_scored(folder) as store:
            builder, rows, seals = TrialGroups(), 0, 0
            for part in spread_results(store, folder, used, _score):
                rows, seals = rows + part.rows, seals + part.seals
                for trial in part.found:
                    builder.add(trial)
            # Results that arrived meanwhile were read at different moments; one reader sees one moment.
            is_complete = store.is_whole(rows, seals)
            sheets = builder.finish() if is_complete else group_trials(map(_to_trial, store.results()))
            return _add_planned(sheets, store)
    finally:
        if engine is None:
            used.close()


class EarlyScorer:
    """Scores the results of a run while the next responses are awaited. The stored results stay authoritative.

    The store is opened only to read: the last process that closes it moves its log into the file, and a reader that
    kept it open would prevent that.

    Args:
        folder: Folder of the run.
        before: Last row of the results that were stored when this session started.
        queue: Results that arrived since, with their checksums. They are removed from it.
    """

    def __init__(self, folder: Path, before: int, queue: deque[tuple[StoredResult, int]]) -> None:
        self._folder, self._before, self._queue = folder, before, queue
        self._earlier: deque[tuple[StoredResult, int]] = deque()
        self._builder = TrialGroups()
        self._last, self._rows, self._seals = 0, 0, 0

    def go_on(self) -> bool:
        """Score a few results, and return whether there were any."""
        if self._rows >= _EARLY:
            self._queue.clear()
            return False
        source = self._queue or self._earlier or self._read_earlier()
        batch = [source.popleft() for _ in range(min(_STEP, len(source)))]
        for result, seal in batch:
            self._builder.add(_to_trial(result))
            self._rows, self._seals = self._rows + 1, self._seals + seal
        return bool(batch)

    def finish(self) -> list[ConditionCounts] | None:
        """Return the table if it covers the whole run, or None if a result was replaced or is missing."""
        while self.go_on():
            pass
        with open_store(self._folder, create=False) as store:
            return _add_planned(self._builder.finish(), store) if store.is_whole(self._rows, self._seals) else None

    def _read_earlier(self) -> deque[tuple[StoredResult, int]]:
        if self._last < self._before:
            with open_store(self._folder, create=False) as store:
                found = [row for row in store.results_after(self._last, _READ) if row[0] <= self._before]
            self._last = found[-1][0] if found else self._before
            self._earlier.extend((result, seal) for _, result, seal in found)
        return self._earlier


def _score(results: Iterable[StoredResult]) -> list[Scored]:
    return [_to_trial(result) for result in results]


def _to_trial(result: StoredResult) -> Scored:
    """Score a result, and keep only the scores of this table, because processes exchange them."""
    completion, scores = result.completion, None
    if completion.outcome == "ok":
        values = score(result.case, completion.reply or "")
        scores = {name: values[name] for name in _NAMES}
    return to_scored(result.case, result.model, result.repeat, completion.outcome, scores)


def _add_planned(sheets: Iterable[TrialColumns], store: RunStore) -> list[ConditionCounts]:
    """Return the rows of all conditions with the number of planned trials, including conditions without a result."""
    rows = {row.condition: row for sheet in sheets for row in _rows(sheet)}
    repeats = store.repeats()
    is_complete = sum(row.asked for row in rows.values()) >= len(store.models()) * store.size(repeats)
    for row in rows.values():
        row.planned = row.asked if is_complete else 0
    models = [] if is_complete else [name for name, _ in store.models().values()]
    for case in store.cases() if models else ():
        for model in models if case.feasible else ():
            condition = condition_of(model, case)
            rows.setdefault(condition, ConditionCounts(condition)).planned += repeats
    return sorted(rows.values(), key=_order)


def _rows(sheet: TrialColumns) -> Iterator[ConditionCounts]:
    noise = np.nan_to_num(sheet.noise, nan=-1.0)
    columns = (sheet.kind, noise, sheet.correct, sheet.k)
    for kind, ratio, correct, k in set(zip(*(column.tolist() for column in columns), strict=True)):
        here = (sheet.kind == kind) & (noise == ratio) & (sheet.correct == correct) & (sheet.k == k)
        testbed, arm = sheet.kinds[kind]
        key, part = sheet.key, sheet.restricted(here)
        mix = (None if ratio < 0 else ratio, correct, k, arm, key.profile)
        yield _row(Condition(key.model, key.data, key.lang, testbed, *mix), part)


def _row(condition: Condition, part: TrialColumns) -> ConditionCounts:
    rates = {
        full_name(name, track): CellBuilder("", part, track).rate(name, part.asked, part.score(name, track)).estimate
        for name, track in _RATES
    }
    asked, failed, refused = (part.size(mask) for mask in (part.asked, part.failed, part.filtered))
    counts = {"asked": asked, "ok": asked - failed, "refused": refused, "error": failed - refused}
    return ConditionCounts(condition, **counts, unscored=asked - rates["correct"].n, rates=rates)


_TESTBED_ORDER = {name: position for position, name in enumerate(TESTBEDS)}


def _order(row: ConditionCounts) -> tuple[str | float, ...]:
    """Return the sort key of a row; testbeds of plug-ins come last."""
    at = row.condition
    testbed = _TESTBED_ORDER.get(at.testbed, len(_TESTBED_ORDER)), at.testbed
    return at.model, at.data, *testbed, at.lang, at.noise or 0, at.profile, at.arm, at.k, at.correct

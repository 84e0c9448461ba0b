"""The tables of a whole run, scored by as many as there are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ragbed.errors import UsageError
from ragbed.runs.condition import Condition
from ragbed.runs.database import NAME
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.rows import Rows, StoredResult
from ragbed.runs.store import RunStore, open_store
from ragbed.runs.tables import ConditionCounts, add_planned, add_result, merge_cells, tabulate

_EARLY = 20_000
"""Results that are scored while others are waited for; the rest is left to an engine."""
_READ = 64
"""Results of earlier sessions that are read at a time."""
_AT_ONCE = 8
"""Results that are scored at once while others are waited for: a millisecond's work."""
_RESULTS = 500
"""Scored as one job, about: a quarter of a second of work, beside which handing it over costs nothing."""
_SHIPPED = 1_000
"""The same where rows must travel: some 5 MB, and a cluster takes 20 ms for a task that has so much to bring."""

Found = TypeVar("Found")


class _Stretch(NamedTuple):
    """Some cases of one model, in a run that whoever scores them can open."""

    folder: Path
    model: int
    first: int
    end: int


class _Shipment(NamedTuple):
    """The same for who cannot: the rows themselves."""

    path: Path
    model: str
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True)
class ScoredBatch(Generic[Found]):
    """What came of some cases, and what of the ledger they are."""

    found: Found
    rows: int
    seals: int


def open_scored(folder: Path) -> RunStore:
    """Opens a run whose replies are answers, which can be scored.

    Raises:
        UsageError: It is a judge's, whose replies are verdicts.
    """
    store = open_store(folder, create=False)
    if "criterion" not in store.settings():
        return store
    store.connection.close()
    judged = folder.absolute().parent.parent  # judges work in RUN/judge/CRITERION
    where = f": {judged}" if (judged / NAME).is_file() else ""
    raise UsageError(f"{folder} is a judge's run; name the run it judged{where}.")


class ScoreCounts:
    """Scores the results of a run while others are waited for; what is stored stays the truth.

    The run is open only while something is read: whoever closes it last puts its log into the file, which a reader
    could not.

    Args:
        folder: The run's.
        before: The last row of the results that were there when the asking began.
        came: Results that came since, with their seals; they are taken out of it.
    """

    def __init__(self, folder: Path, before: int, came: deque[tuple[StoredResult, int]]) -> None:
        self._folder, self._before, self._came = folder, before, came
        self._earlier: deque[tuple[StoredResult, int]] = deque()
        self._cells: dict[Condition, ConditionCounts] = {}
        self._last, self._rows, self._seals = 0, 0, 0

    def go_on(self) -> bool:
        """Scores a few, if there are any; whether there were. A large run is left to an engine."""
        if self._rows >= _EARLY:
            self._came.clear()
            return False
        source = self._came or self._earlier or self._read_earlier()
        some = [source.popleft() for _ in range(min(_AT_ONCE, len(source)))]
        for result, seal in some:
            add_result(self._cells, result)
            self._rows, self._seals = self._rows + 1, self._seals + seal
        return bool(some)

    def finish(self) -> list[ConditionCounts] | None:
        """The sums, if they are those of all that the run holds; None where a result took the place of an error."""
        while self.go_on():
            pass
        with open_store(self._folder, create=False) as store:
            is_whole = store.is_whole(self._rows, self._seals)
            return add_planned(self._cells.values(), store) if is_whole else None

    def _read_earlier(self) -> deque[tuple[StoredResult, int]]:
        """The next of those that were there."""
        if self._last < self._before:
            with open_store(self._folder, create=False) as store:
                found = [one for one in store.results_after(self._last, _READ) if one[0] <= self._before]
            self._last = found[-1][0] if found else self._before
            self._earlier.extend((result, seal) for _, result, seal in found)
        return self._earlier


def tabulate_run(folder: Path, engine: Engine | None = None) -> list[ConditionCounts]:
    """Adds up what a run holds, by condition.

    Args:
        folder: The run's.
        engine: Who scores; None: this machine. The result does not depend on it.
    """
    used = engine or LocalEngine()
    try:
        with open_scored(folder) as store:
            parts = spread_results(store, folder, used, tabulate)
            rows, seals = 0, 0

            def cells() -> Iterator[list[ConditionCounts]]:
                nonlocal rows, seals
                for part in parts:
                    rows, seals = rows + part.rows, seals + part.seals
                    yield part.found

            found = merge_cells(cells())
            if not store.is_whole(rows, seals):
                # Results came in meanwhile, and each was scored at another moment: one reader sees one moment.
                found = tabulate(store.results())
            return add_planned(found, store)
    finally:
        if engine is None:
            used.close()


def spread_results(
    store: RunStore, folder: Path, engine: Engine, work: Callable[[Iterable[StoredResult]], Found]
) -> Iterator[ScoredBatch[Found]]:
    """What a function of a module makes of a run's results, some at a time, by whoever an engine has.

    Whether they were all is for who takes the parts to compare with the ledger.
    """
    models = {number: name for number, (name, _) in store.models().items()}
    last = store.last_case()
    # Cases may have been asked many times each: what a job holds is counted in results.
    wanted = _RESULTS if engine.shares_disk else _SHIPPED
    size = max(1, wanted * last * len(models) // max(1, store.noted_results()))
    firsts = range(1, last + 1, size)
    if engine.shares_disk:
        stretches = (_Stretch(folder, model, first, first + size) for model in models for first in firsts)
        return engine.spread(partial(_do_stretch, work), stretches)
    return engine.spread(
        partial(_do_shipment, work),
        (
            _Shipment(store.path, name, store.rows_between(model, first, first + size))
            for model, name in models.items()
            for first in firsts
        ),
    )


def _do_stretch(work: Callable[[Iterable[StoredResult]], Found], stretch: _Stretch) -> ScoredBatch[Found]:
    with open_store(stretch.folder, create=False) as store:
        name = store.models()[stretch.model][0]
        rows = store.rows_between(stretch.model, stretch.first, stretch.end)
        return _do_shipment(work, _Shipment(store.path, name, rows))


def _do_shipment(work: Callable[[Iterable[StoredResult]], Found], shipment: _Shipment) -> ScoredBatch[Found]:
    reader = Rows(shipment.path)
    seals = sum(map(reader.check, shipment.rows))
    found = work(reader.stored(shipment.model, row) for row in shipment.rows)
    return ScoredBatch(found, len(shipment.rows), seals)

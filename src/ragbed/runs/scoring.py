"""Score all results of a run, on one or several processes, and tabulate them."""

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

_EARLY = 20_000  # results that are scored while the run waits for others; an engine scores the rest
_READ = 64  # results of earlier sessions that are read in one step
_AT_ONCE = 8  # results that are scored in one step while the run waits: about a millisecond of work
_RESULTS = 500  # results per job: about a quarter of a second of work, so that the overhead is negligible
_SHIPPED = 1_000  # results per job if rows are sent: about 5 MB, for which a cluster takes 20 ms

Found = TypeVar("Found")


class _Stretch(NamedTuple):
    """A range of cases of one model, in a run that the worker can open."""

    folder: Path
    model: int
    first: int
    end: int


class _Shipment(NamedTuple):
    """The rows themselves, for a worker that cannot open the run."""

    path: Path
    model: str
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True)
class ScoredBatch(Generic[Found]):
    """The result for some rows, with their number and the sum of their checksums."""

    found: Found
    rows: int
    seals: int


def open_scored(folder: Path) -> RunStore:
    """Open a run whose responses can be scored.

    Raises:
        UsageError: It is the run of a judge, whose responses are verdicts.
    """
    store = open_store(folder, create=False)
    if "criterion" not in store.settings():
        return store
    store.connection.close()
    judged = folder.absolute().parent.parent  # judges work in RUN/judge/CRITERION
    where = f": {judged}" if (judged / NAME).is_file() else ""
    raise UsageError(f"{folder} is the run of a judge; name the judged run{where}.")


class ScoreCounts:
    """Score the results of a run while it waits for others; the stored results are authoritative.

    The run is open only while results are read: the last process that closes it writes its log into the file, which a
    reader cannot do.

    Args:
        folder: The folder of the run.
        before: The last row of the results of earlier sessions.
        came: New results with their checksums, which are removed from it.
    """

    def __init__(self, folder: Path, before: int, came: deque[tuple[StoredResult, int]]) -> None:
        self._folder, self._before, self._came = folder, before, came
        self._earlier: deque[tuple[StoredResult, int]] = deque()
        self._cells: dict[Condition, ConditionCounts] = {}
        self._last, self._rows, self._seals = 0, 0, 0

    def go_on(self) -> bool:
        """Score a few results and return whether there were any; a large run is left to an engine."""
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
        """Return the counts, or None if they are not complete, e.g. because a result replaced an error."""
        while self.go_on():
            pass
        with open_store(self._folder, create=False) as store:
            is_whole = store.is_whole(self._rows, self._seals)
            return add_planned(self._cells.values(), store) if is_whole else None

    def _read_earlier(self) -> deque[tuple[StoredResult, int]]:
        if self._last < self._before:
            with open_store(self._folder, create=False) as store:
                found = [one for one in store.results_after(self._last, _READ) if one[0] <= self._before]
            self._last = found[-1][0] if found else self._before
            self._earlier.extend((result, seal) for _, result, seal in found)
        return self._earlier


def tabulate_run(folder: Path, engine: Engine | None = None) -> list[ConditionCounts]:
    """Count the results of a run by condition.

    Args:
        folder: The folder of the run.
        engine: The engine, which does not affect the result; None for this machine.
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
                # Results were added meanwhile, so the batches are of different moments. One reader sees one moment.
                found = tabulate(store.results())
            return add_planned(found, store)
    finally:
        if engine is None:
            used.close()


def spread_results(
    store: RunStore, folder: Path, engine: Engine, work: Callable[[Iterable[StoredResult]], Found]
) -> Iterator[ScoredBatch[Found]]:
    """Apply a function of a module to the results of a run in batches, on the workers of an engine.

    The caller compares the batches with the ledger to check that they are complete.
    """
    models = {number: name for number, (name, _) in store.models().items()}
    last = store.last_case()
    # A case may have many results, so the size of a job is given in results.
    wanted = _RESULTS if engine.shares_disk else _SHIPPED
    size = max(1, wanted * last * len(models) // max(1, store.result_count()))
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

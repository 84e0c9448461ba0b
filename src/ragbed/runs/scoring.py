"""Read a run's results in batches that an engine can score in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from ragbed.errors import UsageError
from ragbed.runs.database import NAME
from ragbed.runs.engines import Engine
from ragbed.runs.rows import Rows, StoredResult
from ragbed.runs.store import RunStore, open_store

_RESULTS = 500  # number of results per job: about 250 ms of work, so that the overhead is negligible
_SHIPPED = 1_000  # number of results per job if rows are sent to workers: about 5 MB, which takes 20 ms to send

Found = TypeVar("Found")


class _Stretch(NamedTuple):
    """A range of one model's cases in a run that the worker opens itself."""

    folder: Path
    model: int
    first: int
    end: int


class _Shipment(NamedTuple):
    """Rows of results that are sent to a worker, because it cannot open the run itself."""

    path: Path
    model: str
    rows: list[tuple[Any, ...]]


class ScoredBatch(Struct, Generic[Found], frozen=True):
    """The result of scoring a batch of rows, with the number of rows and the sum of their checksums."""

    found: Found
    rows: int
    seals: int


def open_scored(folder: Path) -> RunStore:
    """Open a run whose responses can be scored.

    Raises:
        UsageError: The run is a judge's, whose responses are verdicts.
    """
    store = open_store(folder, create=False)
    if "criterion" not in store.settings():
        return store
    store.connection.close()
    judged = folder.absolute().parent.parent  # judges' runs are in RUN/judge/CRITERION
    where = f": {judged}" if (judged / NAME).is_file() else ""
    raise UsageError(
        f"{folder} contains a judge's model calls, not an evaluation run. Choose the run that was judged{where}."
    )


def spread_results(
    store: RunStore, folder: Path, engine: Engine, work: Callable[[Iterable[StoredResult]], Found]
) -> Iterator[ScoredBatch[Found]]:
    """Apply a module-level function to a run's results in batches, using an engine's workers.

    The caller compares the batches with the ledger to check that they are complete.
    """
    models = {number: name for number, (name, _) in store.models().items()}
    last = store.last_case()
    # A case may have many results, so the job size is measured in results, not cases.
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

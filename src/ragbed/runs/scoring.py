"""Read the results of a run in batches that an engine can score in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ragbed.errors import UsageError
from ragbed.runs.database import NAME
from ragbed.runs.engines import Engine
from ragbed.runs.rows import Rows, StoredResult
from ragbed.runs.store import RunStore, open_store

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

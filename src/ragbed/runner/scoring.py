"""The tables of a whole run, scored in several processes where that is worth it."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ragbed.errors import UsageError
from ragbed.runner.condition import Condition
from ragbed.runner.file import NAME
from ragbed.runner.store import RunStore, Stored, open_store
from ragbed.runner.tables import Cell, add_planned, add_result, merge_cells, tabulate

WORTH_WORKERS = 20_000
"""Results from which on a second process saves more than it costs: its start takes about as long as 2,000 of them."""
_READ = 32
"""Results that are read at a time while others are waited for."""
_SHARES = 16
"""Tasks for each worker: enough that they end together, and few enough that asking for them costs nothing."""

Part = tuple[list[Cell], int, int]


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


class Tally:
    """Scores the results of a run as they come, while others are waited for; what is stored stays the truth."""

    def __init__(self, folder: Path) -> None:
        self._store = open_store(folder, create=False)
        self._cells: dict[Condition, Cell] = {}
        self._read: deque[tuple[int, Stored, int]] = deque()
        self._last, self._rows, self._seals = 0, 0, 0

    def go_on(self) -> bool:
        """Scores one of those that came since, if there is one; whether it did. A large run is left to a pool."""
        if self._rows >= WORTH_WORKERS:
            return False
        if not self._read:
            self._read.extend(self._store.results_after(self._last, _READ))
            if not self._read:
                return False
        self._last, result, seal = self._read.popleft()
        add_result(self._cells, result)
        self._rows, self._seals = self._rows + 1, self._seals + seal
        return True

    def finish(self) -> list[Cell] | None:
        """The sums, if they are those of all that the run holds; None where a result took the place of an error."""
        with self._store:
            while self.go_on():
                pass
            if self._store.is_whole(self._rows, self._seals):
                return add_planned(self._cells.values(), self._store)
        return None


def tabulate_run(folder: Path, workers: int | None = None, worth: int = WORTH_WORKERS) -> list[Cell]:
    """Adds up what a run holds, by condition.

    Args:
        folder: The run's.
        workers: Processes; None takes as many as there are cores. The result does not depend on it.
        worth: Results from which on more than one is used.
    """
    wanted = (os.cpu_count() or 1) if workers is None else workers
    with open_scored(folder) as store:
        models, last = list(store.models()), store.last_case()
        if wanted > 1 and store.noted_results() >= worth:
            size = last // (_SHARES * wanted) + 1
            tasks = [(model, first, first + size) for model in models for first in range(1, last + 1, size)]
            parts = _score_in_pool(folder, tasks, wanted)
            if store.is_whole(sum(rows for _, rows, _ in parts), sum(seals for _, _, seals in parts)):
                return add_planned(merge_cells(cells for cells, _, _ in parts), store)
        # Also where results came in meanwhile, which the workers saw at different moments: one reader sees one.
        return add_planned(tabulate(store.results()), store)


def _score_in_pool(folder: Path, tasks: list[tuple[int, int, int]], workers: int) -> list[Part]:
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_ignore_interrupt)
    try:
        return list(pool.map(_score_part, [folder] * len(tasks), *zip(*tasks, strict=True)))
    finally:
        pool.shutdown(cancel_futures=True)


def _score_part(folder: Path, model: int, first: int, end: int) -> Part:
    rows, seals = 0, 0
    with open_store(folder, create=False) as store:

        def results() -> Iterator[Stored]:
            nonlocal rows, seals
            for result, seal in store.results_between(model, first, end):
                rows, seals = rows + 1, seals + seal
                yield result

        cells = tabulate(results())
    return cells, rows, seals


def _ignore_interrupt() -> None:
    """Leaves Ctrl-C to the parent, which stops the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

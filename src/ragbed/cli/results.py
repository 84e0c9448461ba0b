"""Print the overview table of a run, which is filled while responses are awaited."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.analysis.condition_table import ConditionCounts, EarlyScorer
    from ragbed.runs.engines import Engine
    from ragbed.runs.store import RunStore, StoredResult

_TABULATOR = "ragbed.analysis.condition_table"
_MAX_QUEUED = 1_000  # Results that wait to be scored: 15 MB with RGB's documents.
_SCORE_TITLES = {"correct": "accuracy", "refused": "rejection"}


class EarlyTables:
    """Fills the table of a run while responses are awaited, when it costs no time.

    Args:
        folder: Folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._before = folder, 0
        self._queue: deque[tuple[StoredResult, int]] = deque()
        self._loading = Thread(target=_load_tabulator, daemon=True)
        self._scorer: EarlyScorer | None = None
        self._has_failed = False

    def begin(self, store: RunStore) -> None:
        """Note which results are stored already (see `Follower`)."""
        self._before = store.last_result()

    def take(self, result: StoredResult, seal: int) -> None:
        """Queue a result (see `Follower`). If the queue is full, score some of it now."""
        if self._has_failed:
            return
        if self._loading.ident is None:  # Loading takes 0.3 s, so the first response comes first.
            self._loading.start()
        self._queue.append((result, seal))
        if len(self._queue) > _MAX_QUEUED:
            self._loading.join()
            self.go_on()

    def go_on(self) -> bool:
        """Score a few results once the tabulator is loaded, and return whether there were any (see `Follower`)."""
        if self._loading.ident is None or self._loading.is_alive() or self._has_failed:
            return False
        try:
            if self._scorer is None:
                self._scorer = import_module(_TABULATOR).EarlyScorer(self._folder, self._before, self._queue)
            return self._scorer.go_on()
        except Exception:  # Paid responses must be stored. `cells` scores again and raises the error.
            self._has_failed = True
            self._queue.clear()
            return False

    def cells(self, engine: Engine) -> list[ConditionCounts]:
        """Return the table of the finished run; the engine scores what was not scored during the run."""
        if self._loading.ident is not None:
            self._loading.join()
            self.go_on()
        cells = None if self._scorer is None or self._has_failed else self._scorer.finish()
        return read_cells(self._folder, engine) if cells is None else cells


def _load_tabulator() -> None:
    with suppress(Exception):  # E.g. too many open files. `go_on` imports it again and handles the error.
        import_module(_TABULATOR)


def read_cells(folder: Path, engine: Engine | None = None) -> list[ConditionCounts]:
    """Return the counts and rates of a run by condition."""
    from ragbed.analysis.condition_table import tabulate_run

    return tabulate_run(folder, engine)


def read_rest(folder: Path) -> tuple[int, str | None]:
    """Return the number of infeasible cases, and the message of the first error."""
    from ragbed.runs.store import open_store

    with open_store(folder, create=False) as store:
        return store.infeasible(), store.an_error()


def print_cells(cells: Sequence[ConditionCounts], folders: Sequence[Path], *, to_stderr: bool) -> None:
    """Print one table for each model, dataset and profile, with the headline score of each testbed in all tracks."""
    from ragbed.cli.console import print_table, say
    from ragbed.runs.display_names import read_names

    names = read_names(folders)
    tables: dict[str, list[ConditionCounts]] = {}
    for cell in cells:
        at = cell.condition
        tables.setdefault(f"{names[at.model]} on {at.data}, profile {at.profile}", []).append(cell)
    for title, shown in tables.items():
        conditions = [_condition(cell) for cell in shown]
        varied = [
            name for name in ("arm", "docs", "true") if len({one.get(name, "–") for one in conditions} - {"–"}) > 1
        ]
        columns = ("testbed", "lang", *varied, "noise", "n", "errors", "score", "code %", "paper %", "robust %")
        rows = [
            _row(cell, [one.get(name, "–") for name in varied]) for cell, one in zip(shown, conditions, strict=True)
        ]
        print_table(title, columns, rows, to_stderr=to_stderr)
    if unsure := sum(round(cell.rate("unsure") * cell.asked) for cell in cells):
        say(f"{unsure:,} responses are unsure and count as wrong. Judge them with ragbed judge RUN -m MODEL --unsure.")
    if unscored := sum(cell.unscored for cell in cells):
        say(f"{unscored:,} responses are in no robust rate: their gold answers cannot be matched. See ragbed lint.")


def headline_of(testbed: str) -> tuple[str, str]:
    """Return the title and the key of a testbed's headline score."""
    from ragbed.testbeds import headline_score

    counted = headline_score(testbed)
    return _SCORE_TITLES[counted], counted


def _row(cell: ConditionCounts, varied: Sequence[str]) -> tuple[object, ...]:
    from ragbed.reporting.numbers import show

    testbed, noise = cell.condition.testbed, cell.condition.noise
    title, score = headline_of(testbed)
    n = cell.asked if cell.asked == cell.planned else f"{cell.asked} of {cell.planned}"
    mix = (*varied, "–" if noise is None else f"{noise:.3g}")
    rates = [f"{100 * cell.rate(f'{track}.{score}'):.1f}" for track in ("code", "paper")]
    return (
        testbed,
        cell.condition.lang,
        *mix,
        n,
        cell.error + cell.refused,
        title,
        *rates,
        show(cell.rates.get(score)) + _upper_bound(cell, score),
    )


def _upper_bound(cell: ConditionCounts, score: str) -> str:
    """Return the rate if all unsure responses, which count as wrong, were right; nothing if there are none."""
    if score != "correct" or not cell.rate("unsure"):
        return ""
    return f", at most {100 * (cell.rate('correct') + cell.rate('unsure')):.1f}"


def _condition(cell: ConditionCounts) -> dict[str, str]:
    """Return the properties of a condition beside its noise ratio, as far as its testbed has them."""
    at = cell.condition
    if at.noise is None:
        return {}
    shown = {"arm": at.arm, "docs": str(at.k)}
    return shown | {"true": f"{at.correct:.3g}"} if at.testbed == "counterfactual" else shown

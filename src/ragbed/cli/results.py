"""The tables of a run, as commands print them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.runs.engines import Engine
    from ragbed.runs.scoring import ScoreCounts
    from ragbed.runs.store import RunStore, StoredResult
    from ragbed.runs.tables import ConditionCounts

_MOST_WAITING = 1_000
"""Results that are held until they are scored: 15 MB of them with RGB's documents."""
_SCORE_TITLES = {"correct": "accuracy", "refused": "rejection"}


class EarlyTables:
    """The tables of a run that is being asked: filled while replies are waited for, when it costs no time.

    Args:
        folder: The run's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._before = folder, 0
        self._came: deque[tuple[StoredResult, int]] = deque()
        self._loading = Thread(target=_load, daemon=True)
        self._tally: ScoreCounts | None = None
        self._is_given_up = False

    def begin(self, store: RunStore) -> None:
        """See `Follower`: loads what tables are made with, in another thread."""
        self._before = store.last_result()
        self._loading.start()

    def take(self, result: StoredResult, seal: int) -> None:
        """See `Follower`: of too many that wait some are scored at once."""
        if self._is_given_up:
            return
        self._came.append((result, seal))
        if len(self._came) > _MOST_WAITING:
            self._loading.join()
            self.go_on()

    def go_on(self) -> bool:
        """See `Follower`: scores what has come, once all is loaded."""
        if self._loading.is_alive() or self._is_given_up:
            return False
        try:
            self._tally = self._tally or _begin_tally(self._folder, self._before, self._came)
            return self._tally.go_on()
        except Exception:  # replies are paid and must be kept; whoever reads the tables meets it again and is told
            self._is_given_up = True
            self._came.clear()
            return False

    def cells(self, engine: Engine) -> list[ConditionCounts]:
        """What the run holds, now that all was asked; an engine scores what could not be before."""
        if self._loading.ident is not None:
            self._loading.join()
            self.go_on()
        cells = None if self._tally is None or self._is_given_up else self._tally.finish()
        return read_cells(self._folder, engine) if cells is None else cells


def _load() -> None:
    with suppress(Exception):  # as of too many open files: who needs it then loads it again, and is told
        import_module("ragbed.runs.scoring")


def _begin_tally(folder: Path, before: int, came: deque[tuple[StoredResult, int]]) -> ScoreCounts:
    from ragbed.runs.scoring import ScoreCounts

    return ScoreCounts(folder, before, came)


def read_cells(folder: Path, engine: Engine | None = None) -> list[ConditionCounts]:
    """Adds up what a run holds."""
    from ragbed.runs.scoring import tabulate_run

    return tabulate_run(folder, engine)


def read_rest(folder: Path) -> tuple[int, str | None]:
    """What no table tells: how many cases were planned and cannot be asked, and what the first error says."""
    from ragbed.runs.store import open_store

    with open_store(folder, create=False) as store:
        return store.infeasible(), store.an_error()


def print_cells(cells: Sequence[ConditionCounts], folders: Sequence[Path], *, to_stderr: bool) -> None:
    """Print one table for each model and dataset: calls, failures, and the share of all cases with the score."""
    from ragbed.cli.console import print_table, say
    from ragbed.runs.display_names import read_names

    names = read_names(folders)
    tables: dict[str, list[ConditionCounts]] = {}
    for cell in cells:
        of = cell.condition
        tables.setdefault(f"{names[of.model]} on {of.data}, profile {of.profile}", []).append(cell)
    for title, shown in tables.items():
        varied = _varied(shown)
        columns = ("testbed", "lang", *varied, "noise", "asked", "errors", "score", "code %", "paper %", "robust %")
        print_table(title, columns, [_row(cell, varied) for cell in shown], to_stderr=to_stderr)
    if unscored := sum(cell.unscored for cell in cells):
        say(f"{unscored:,} replies are in no robust rate: their cases' answers cannot be matched. See ragbed lint.")


def headline_of(testbed: str) -> tuple[str, str]:
    """Return the title and the key of a testbed's headline score."""
    from ragbed.testbeds import headline_score

    counted = headline_score(testbed)
    return _SCORE_TITLES[counted], counted


def _row(cell: ConditionCounts, varied: Sequence[str]) -> tuple[object, ...]:
    name, counted = headline_of(cell.condition.testbed)
    noise = "–" if cell.condition.noise is None else f"{cell.condition.noise:.3g}"
    rates = [f"{100 * cell.rate(f'{track}{counted}'):.1f}" for track in ("code.", "paper.", "")]
    asked = cell.asked if cell.asked == cell.planned else f"{cell.asked} of {cell.planned}"
    condition = _condition(cell)
    told = [condition.get(column, "–") for column in varied]
    return (cell.condition.testbed, cell.condition.lang, *told, noise, asked, cell.error + cell.refused, name, *rates)


def _varied(cells: Sequence[ConditionCounts]) -> list[str]:
    """The columns without which rows of a table could not be told apart."""
    conditions = [_condition(cell) for cell in cells]
    values = {name: {told[name] for told in conditions if name in told} for name in ("arm", "docs", "true")}
    return [name for name, found in values.items() if len(found) > 1]


def _condition(cell: ConditionCounts) -> dict[str, str]:
    """What a condition is besides its noise, as far as its testbed has such: no documents have no arm."""
    if cell.condition.noise is None:
        return {}
    told = {"arm": cell.condition.arm, "docs": str(cell.condition.k)}
    return told | {"true": f"{cell.condition.correct:.3g}"} if cell.condition.testbed == "counterfactual" else told

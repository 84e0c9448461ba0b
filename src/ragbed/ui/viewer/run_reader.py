"""Read one run and its index."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from ragbed.runs.decided import DecidedInterval, read_decided
from ragbed.runs.lock import holder
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.ui.viewer.cells import TrialCell
from ragbed.ui.viewer.diagnosis import ShownEvidence
from ragbed.ui.viewer.index import open_for_reading, read_meta
from ragbed.ui.viewer.indexing import item_name

_CHECK_EVERY = 10_000  # Number of SQLite instructions (less than a millisecond of work) between two time checks.
# CROSS JOIN makes SQLite look up the words first. Contentless tables return their rows in rowid order.
_IN_TRIALS = "words w CROSS JOIN trials t ON t.id = w.rowid WHERE w.text MATCH ?"
_IN_DOCUMENTS = """documents d CROSS JOIN shown s ON s.passage = d.rowid CROSS JOIN trials t ON t.asked = s.asked
  WHERE d.text MATCH ?"""
_IN_CELLS = "AND t.cell IN (SELECT value FROM json_each(?))"
_AMONG_TRIALS = "AND t.id IN (SELECT value FROM json_each(?))"

# Each entry contains a number of hits, a number of trials, and the number of questions or events with these counts.
Patterns: TypeAlias = tuple[tuple[int, int, int], ...]


class TrialLocation(NamedTuple):
    """A trial in the index; `in_document` is true if a search found the query's words only in a document."""

    id: int
    result: int
    cell: int
    in_document: bool = False


class RunReadProgress(NamedTuple):
    """The progress of a run and its index; `process` identifies the process that is writing to the run.

    `seals` changes with every indexed result, also when a result replaces an error.
    """

    results: int
    indexed: int
    seals: str
    process: str | None
    problem: str | None


class RunReader:
    """Reads one run and its index on demand, so that the data is always current.

    Args:
        name: The run's name on the pages.
        folder: Folder of the run.
        index: The run's index file.
    """

    def __init__(self, name: str, folder: Path, index: Path) -> None:
        self.name, self.folder = name, folder
        self.store = open_scored(folder)
        self._index = open_for_reading(index)
        self._version = -1
        self._cells: list[tuple[int, TrialCell, int]] = []
        self._by_number: dict[int, TrialCell] = {}
        self._patterns: dict[tuple[str, ...], dict[tuple[object, ...], dict[str, Patterns]]] = {}

    def check(self) -> None:
        """Check that the data shown on every page can be read.

        Raises:
            RagbedError: The run cannot be read.
            sqlite3.Error: The index cannot be read.
        """
        self.progress()
        self.store.models()
        self.store.names()
        self.store.served()

    def close(self) -> None:
        """Close the run and the index."""
        self.store.connection.close()
        self._index.close()

    @property
    def cells(self) -> list[tuple[int, TrialCell, int]]:
        """Return each cell with its ID and trial count, in list order; the result is cached until the index changes."""
        self._forget_outdated()
        return self._cells

    def _forget_outdated(self) -> None:
        (version,) = self._index.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            rows = self._index.execute("SELECT id, cell, trials FROM cells WHERE trials > 0")
            cells = [(number, msgspec.json.decode(cell, type=TrialCell), trials) for number, cell, trials in rows]
            self._cells = sorted(cells, key=lambda row: row[1].place)
            self._by_number = {number: cell for number, cell, _ in cells}
            self._patterns = {}
            self._version = version

    def cell(self, place: TrialLocation) -> TrialCell:
        """Return a trial's cell, which may be newer than the cached cells."""
        if place.cell not in self._by_number:
            (cell,) = self._index.execute("SELECT cell FROM cells WHERE id = ?", (place.cell,)).fetchone()
            self._by_number[place.cell] = msgspec.json.decode(cell, type=TrialCell)
        return self._by_number[place.cell]

    def plan(self) -> Iterator[tuple[tuple[object, ...], int, int]]:
        """Yield the fields of each condition except the model, with the numbers of feasible and infeasible cases."""
        for condition, planned, infeasible in self._index.execute("SELECT condition, planned, infeasible FROM plan"):
            yield tuple(msgspec.json.decode(condition)), planned, infeasible

    def patterns(self, scores: tuple[str, ...]) -> dict[tuple[object, ...], dict[str, Patterns]]:
        """Count the questions or events with each combination of hits and trials, by condition and score.

        The result is cached until the index changes.
        """
        self._forget_outdated()
        if scores not in self._patterns:
            self._patterns[scores] = self._read_patterns(scores)
        return self._patterns[scores]

    def _read_patterns(self, scores: tuple[str, ...]) -> dict[tuple[object, ...], dict[str, Patterns]]:
        found: dict[tuple[object, ...], dict[str, Patterns]] = {}
        conditions = {
            number: found.setdefault(tuple(msgspec.json.decode(condition)), {})
            for number, condition in self._index.execute("SELECT id, condition FROM conditions")
        }
        query = """SELECT condition, score, hits, trials, clusters FROM patterns
            WHERE clusters > 0 AND score IN (SELECT value FROM json_each(?))"""
        for number, score, *pattern in self._index.execute(query, (msgspec.json.encode(scores).decode(),)):
            own = conditions[number]
            own[score] = (*own.get(score, ()), (pattern[0], pattern[1], pattern[2]))
        return found

    def largest_planned(self) -> int:
        """Return the largest planned number of trials per question or event if the run is monitored, otherwise 0."""
        return int(read_meta(self._index, "largest") or 0) if self.store.is_monitored() else 0

    def decided(self, track: str) -> list[DecidedInterval]:
        """Return the confidence intervals behind a monitored run's stopping decisions (robust track only)."""
        return read_decided(self.store) if track == "robust" and self.store.is_monitored() else []

    def progress(self) -> RunReadProgress:
        """Return the progress of the run and its index."""
        results = self.store.result_count()
        indexed = int(read_meta(self._index, "rows") or 0)
        seals, problem = (read_meta(self._index, key) or "" for key in ("seals", "problem"))
        return RunReadProgress(results, indexed, seals, holder(self.folder), problem or None)

    def in_cell(self, cell: int, offset: int, limit: int) -> list[TrialLocation]:
        """Return a range of a cell's trials."""
        return self._locate("trials t WHERE t.cell = ? ORDER BY t.id LIMIT ? OFFSET ?", (cell, limit, offset))

    def search(
        self,
        match: str,
        cells: Collection[int] | None,
        limit: int,
        deadline: float,
        trials: Collection[int] | None = None,
    ) -> tuple[list[TrialLocation], bool]:
        """Return up to `limit` matching trials from all cells or the given ones, and whether the list is complete.

        If `trials` is given, only these trials are searched. Matches in the question, the answers and the response come
        before matches in a document.
        """
        found: dict[int, TrialLocation] = {}
        self._index.set_progress_handler(lambda: time.monotonic() > deadline, _CHECK_EVERY)
        try:
            for source in (_IN_TRIALS, _IN_DOCUMENTS):
                for row in self._search(source, match, cells, trials):
                    found.setdefault(row[0], TrialLocation(*row, in_document=source is _IN_DOCUMENTS))
                    if len(found) >= limit:
                        return list(found.values()), False
        except sqlite3.OperationalError as error:
            if "interrupted" not in str(error):
                raise
            return list(found.values()), False
        finally:
            self._index.set_progress_handler(None, 0)
        ((last_case,),) = self.store.read("SELECT COALESCE(MAX(id), 0) FROM cases WHERE feasible")
        are_documents_indexed = int(read_meta(self._index, "documents") or 0) >= int(last_case)
        return list(found.values()), are_documents_indexed

    def _search(
        self, source: str, match: str, cells: Collection[int] | None, trials: Collection[int] | None
    ) -> Iterator[tuple[int, int, int]]:
        inside = [(clause, ids) for clause, ids in ((_IN_CELLS, cells), (_AMONG_TRIALS, trials)) if ids is not None]
        clauses = " ".join(clause for clause, _ in inside)
        query = f"SELECT t.id, t.result, t.cell FROM {source} {clauses}"  # noqa: S608 - contains no user input
        values = (msgspec.json.encode(list(ids)).decode() for _, ids in inside)
        with closing(self._index.execute(query, (match, *values))) as rows:
            yield from rows

    def of_question(self, stored: StoredResult, limit: int) -> list[TrialLocation]:
        """Return up to `limit` trials for a result's question, under any condition."""
        return self._locate(
            """items i JOIN asked a ON a.item = i.id JOIN trials t ON t.asked = a.id
            WHERE i.name = ? ORDER BY t.cell, t.id LIMIT ?""",
            (item_name(stored.case.data, stored.case.item), limit),
        )

    def perturbed(self, case: Case) -> tuple[str, str] | None:
        """Return the perturbed version of a case's item and the perturbation, or None if there is no such version."""
        query = "SELECT item, dial FROM items WHERE twin = ? AND dial IS NOT NULL ORDER BY id LIMIT 1"
        found = self._index.execute(query, (item_name(case.data, case.item),)).fetchone()
        return None if found is None else (found[0], found[1])

    def of_call(self, model: str, case: str, repeat: int) -> TrialLocation | None:
        """Return the trial for a model, case and repeat, or None if the trial is not indexed."""
        rows = self.store.read(
            """SELECT r.number FROM cases c JOIN models m ON m.name = ? JOIN results r
            ON r.model = m.id AND r.item = c.id AND r.repeat = ? WHERE c.name = ?""",
            (model, repeat, case),
        )
        found = [place for row in rows for place in self._locate("trials t WHERE t.result = ?", row)]
        return found[0] if found else None

    def _locate(self, source: str, values: tuple[object, ...]) -> list[TrialLocation]:
        query = f"SELECT t.id, t.result, t.cell FROM {source}"  # noqa: S608 - contains no user input
        return [TrialLocation(*row) for row in self._index.execute(query, values)]

    def evidence(self, place: TrialLocation) -> list[ShownEvidence]:
        """Return the evidence for a trial's errors, if the trial was diagnosed."""
        row = self._index.execute("SELECT told FROM evidence WHERE trial = ?", (place.id,)).fetchone()
        return [] if row is None else msgspec.json.decode(row[0], type=list[ShownEvidence])

    def read(self, place: TrialLocation) -> StoredResult:
        """Read a trial from the run."""
        _, stored, _ = next(iter(self.store.results_after(place.result - 1, 1)))
        return stored

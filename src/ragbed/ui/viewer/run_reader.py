"""Read one run and its table of trials.

Trials are grouped into cells, so that the viewer filters and counts a few thousand cells instead of all trials.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ragbed.analysis.overview import ConditionRow
from ragbed.analysis.trials.table import TrialTable
from ragbed.runs.condition import Condition
from ragbed.runs.lock import holder
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.testbeds import TESTBEDS
from ragbed.ui.viewer.search_index import FirstScreen, add_tables, find_trial, read_snapshot

_ORDER = {name: position for position, name in enumerate(TESTBEDS)}
_WITH_TRUE = ("counterfactual", "conflict")  # Testbeds whose conditions set the share of true documents.
_LAST = 99  # Sort position of unknown values, after all known values.


class TrialCell(Condition, frozen=True, kw_only=True):
    """Trials of one model under one condition, all with the same outcome and verdict."""

    outcome: str
    error: str | None = None  # Kind of error.
    verdict: str | None = None
    misled: bool = False
    types: tuple[str, ...] = ()  # Error types found by `ragbed diagnose`, or the cause for an own RAG system.

    @property
    def place(self) -> tuple[object, ...]:
        """Return the cell's sort key: model, data, testbed and noise, with failures first."""
        result = (self.outcome == "ok", self.verdict == "correct", self.verdict or "", self.error or "", self.misled)
        at = (self.model, self.data, _ORDER.get(self.testbed, _LAST), -1.0 if self.noise is None else self.noise)
        return (*at, self.correct, self.k, self.arm, self.profile, *result, self.types, self.lang, self.testbed)


# The filters, each with a function that returns a cell's values for that filter.
FACETS: Mapping[str, Callable[[TrialCell], tuple[str, ...]]] = {
    "model": lambda cell: (cell.model,),
    "data": lambda cell: (cell.data,),
    "lang": lambda cell: (cell.lang,),
    "testbed": lambda cell: (cell.testbed,),
    "noise": lambda cell: ("none" if cell.noise is None else f"{cell.noise:.3g}",),
    "docs": lambda cell: () if cell.noise is None else (str(cell.k),),
    "arm": lambda cell: (cell.arm,),
    "profile": lambda cell: (cell.profile,),
    "true": lambda cell: (f"{cell.correct:.3g}",) if cell.testbed in _WITH_TRUE else (),
    "outcome": lambda cell: (cell.outcome,),
    "error": lambda cell: () if cell.error is None else (cell.error,),
    "verdict": lambda cell: () if cell.verdict is None else (cell.verdict,),
    "misled": lambda cell: ("misled",) if cell.misled else (),
    "type": lambda cell: cell.types,
}


CellFilter: TypeAlias = Mapping[str, frozenset[str]]
"""A filter for cells. A cell matches if, for each facet in the filter, it has one of the selected values."""


def misses(wanted: CellFilter, cell: TrialCell) -> list[str]:
    """Return the facets of a filter that exclude a cell."""
    return [name for name, values in wanted.items() if values.isdisjoint(FACETS[name](cell))]


def count_facets(cells: Iterable[tuple[TrialCell, int]], wanted: CellFilter) -> dict[str, dict[str, int]]:
    """Count the trials that would match each facet value if it were the only value selected for that facet."""
    counts: dict[str, dict[str, int]] = {name: {} for name in FACETS}
    for cell, trials in cells:
        missed = misses(wanted, cell)
        if len(missed) > 1:
            continue
        for name in missed or FACETS:
            counted = counts[name]
            for value in FACETS[name](cell):
                counted[value] = counted.get(value, 0) + trials
    return {name: _in_order(name, counted) for name, counted in counts.items()}


def _in_order(name: str, counted: dict[str, int]) -> dict[str, int]:
    """Return a facet's values in display order."""

    def place(value: str) -> tuple[float, str]:
        if name in ("noise", "docs", "true"):
            return (_LAST if value == "none" else float(value)), value
        if name == "type":  # Sorts E2 before E10.
            return len(value), value
        return (_ORDER.get(value, _LAST) if name == "testbed" else 0), value

    return {value: counted[value] for value in sorted(counted, key=place)}


_TRIALS = """SELECT t.id, t.model, c.condition, t.score, d.types
  FROM trials t JOIN cases c ON c.id = t.case_id LEFT JOIN diagnosed d ON d.trial = t.id"""
# CROSS JOIN makes SQLite look up the words first. Contentless tables return their rows in rowid order.
_IN_TRIALS = "SELECT x.trial FROM words w CROSS JOIN texts x ON x.result = w.rowid WHERE w.text MATCH ?"
_IN_DOCUMENTS = """SELECT t.id FROM documents d CROSS JOIN shown s ON s.passage = d.rowid
  CROSS JOIN trials t ON t.case_id = s.case_id WHERE d.text MATCH ?"""
_OF_QUESTION = """SELECT t.id FROM items i CROSS JOIN cases c ON c.item = i.id CROSS JOIN trials t ON t.case_id = c.id
  WHERE i.data = ? AND i.item = ? ORDER BY c.id, t.model, t.repeat LIMIT ?"""


class FoundTrial(NamedTuple):
    """A trial that a search found; `in_document` is true if its words are only in a document."""

    id: int
    in_document: bool = False


class RunReadProgress(NamedTuple):
    """The progress of a run and its table; `process` identifies the process that is writing to the run.

    `indexed` is the number of results that all pages show and a search finds. `version` changes with the table, also
    when a result replaces an error.
    """

    results: int
    indexed: int
    version: int
    process: str | None
    problem: str | None


class _Loaded(NamedTuple):
    """What is kept in memory of a table: the cells in list order, with the IDs of their trials."""

    cells: list[tuple[TrialCell, array[int]]]
    places: array[int]  # the place of each trial's cell in the list, by the trial's ID
    overview: list[ConditionRow]
    first: FirstScreen


class RunReader:
    """Reads one run and its table on demand, so that the data is always current.

    Args:
        name: The run's name on the pages.
        folder: Folder of the run.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.table = TrialTable(folder)
        self.store = self.table.store
        self._execute = self.table.connection.execute
        self._version = -1
        self._kept = _Loaded([], array("q"), [], FirstScreen())

    def check(self) -> None:
        """Check that the data shown on every page can be read.

        Raises:
            RagbedError: The run cannot be read.
            sqlite3.Error: The table cannot be read.
        """
        self.progress()
        self.store.models()
        self.store.names()

    def close(self) -> None:
        """Close the run and its table."""
        self.table.close()

    def progress(self) -> RunReadProgress:
        """Return the progress of the run and its table."""
        shown = sum(row.asked for row in self.overview)
        (indexed,) = self._execute("SELECT COUNT(*) FROM texts").fetchone()
        problem = self.table.read_meta("problem") or None
        return RunReadProgress(
            self.store.result_count(), min(indexed, shown), self._version, holder(self.folder), problem
        )

    # What is kept in memory until the table changes

    def _loaded(self) -> _Loaded:
        add_tables(self.table)
        (version,) = self._execute("PRAGMA data_version").fetchone()  # changes when another process changes the table
        if version != self._version:
            with read_snapshot(self.table):
                self._kept = self._load()
            self._version = version
        return self._kept

    def _load(self) -> _Loaded:
        grouped: dict[tuple[int, int, int, str | None], array[int]] = {}
        for trial, *key in self._execute(_TRIALS):
            grouped.setdefault(tuple(key), array("q")).append(trial)
        models = {number: name for number, (name, _) in self.store.models().items()}
        conditions = {number: values for number, *values in self.table.rows("conditions")}
        scores: dict[int, dict[str, Any]] = {}
        for number, outcome, error, _, verdicts in self.table.rows("scores"):
            values = msgspec.json.decode(verdicts)
            verdict, misled = values.get("verdict"), values.get("misled") is True
            scores[number] = {"outcome": outcome, "error": error, "verdict": verdict, "misled": misled}
            scores[number]["types"] = (values["cause"],) if "cause" in values else ()
        cells: dict[TrialCell, array[int]] = {}
        for (model, condition, score, types), trials in grouped.items():
            cell = TrialCell(models[model], *conditions[condition], **scores[score])
            if types is not None:
                cell = msgspec.structs.replace(cell, types=tuple(msgspec.json.decode(types)))
            cells.setdefault(cell, array("q")).extend(trials)
        ordered = [(cell, array("q", sorted(cells[cell]))) for cell in sorted(cells, key=lambda cell: cell.place)]
        places = array("q", [-1]) * (1 + max((trials[-1] for _, trials in ordered), default=0))
        for place, (_, trials) in enumerate(ordered):
            for trial in trials:
                places[trial] = place
        overview = msgspec.json.decode(self.table.read_meta("overview") or "[]", type=list[ConditionRow])
        first = msgspec.json.decode(self.table.read_meta("first") or "{}", type=FirstScreen)
        return _Loaded(ordered, places, overview, first)

    @property
    def cells(self) -> list[tuple[TrialCell, array[int]]]:
        """The cells in list order, each with the IDs of its trials."""
        return self._loaded().cells

    def place(self, trial: int) -> int:
        """Return the place of a trial's cell in the list, or −1 if the trial is newer than the list."""
        return self._kept.places[trial] if trial < len(self._kept.places) else -1

    def cell(self, trial: int) -> TrialCell:
        """Return a trial's cell."""
        return self._loaded().cells[self.place(trial)][0]

    @property
    def overview(self) -> list[ConditionRow]:
        """The rows of the overview, which can lag behind the trials."""
        return self._loaded().overview

    @property
    def first(self) -> FirstScreen:
        """The verdicts and the worst questions."""
        return self._loaded().first

    # Finding and reading trials

    def search(
        self, match: str, among: Container[int] | None, places: Container[int], limit: int
    ) -> tuple[list[FoundTrial], bool]:
        """Return up to `limit` trials that match an expression, and whether the list is complete.

        Matches in the question, the answers and the response come before matches in a document.

        Args:
            match: The expression.
            among: The IDs of the trials to search; None to search all.
            places: The places of the cells to search.
            limit: The maximum number of trials.
        """
        found: dict[int, FoundTrial] = {}
        for query in (_IN_TRIALS, _IN_DOCUMENTS):
            for (trial,) in self._execute(query, (match,)):
                if self.place(trial) in places and (among is None or trial in among):
                    found.setdefault(trial, FoundTrial(trial, in_document=query is _IN_DOCUMENTS))
                if len(found) >= limit:
                    return list(found.values()), False
        return list(found.values()), True

    def of_question(self, case: Case, limit: int) -> list[int]:
        """Return up to `limit` trials of a case's question, under any condition."""
        return [trial for (trial,) in self._execute(_OF_QUESTION, (case.data, case.item, limit))]

    def of_call(self, model: str, case: str, repeat: int) -> int | None:
        """Return the trial for a model, case and repeat, or None if it is not in the table."""
        numbers = [number for number, (name, _) in self.store.models().items() if name == model]
        cases = [number for (number,) in self.store.read("SELECT id FROM cases WHERE name = ?", (case,))]
        found = [one for number in numbers for at in cases for one in find_trial(self.table, number, at, repeat)]
        return found[0] if found else None

    def evidence(self, trial: int) -> list[dict[str, Any]]:
        """Return the evidence for a trial's errors, if the trial was diagnosed."""
        row = self._execute("SELECT evidence FROM diagnosed WHERE trial = ?", (trial,)).fetchone()
        return [] if row is None else msgspec.json.decode(row[0])

    def read(self, trial: int) -> StoredResult:
        """Read a trial from the run."""
        query = "SELECT model, name, repeat FROM trials JOIN cases ON cases.id = case_id WHERE trials.id = ?"
        model, case, repeat = self._execute(query, (trial,)).fetchone()
        stored = self.store.result(model, case, repeat)
        if stored is None:
            raise self.store.damaged(f"the result of {case}")
        return msgspec.structs.replace(stored, model=self.store.models()[model][0])

"""Fills the index of a run piece by piece, and follows a run that is at work.

Every piece is one transaction that begins where the last one ended, so that a viewer that is stopped, or a second one
on the same run, does no harm.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.errors import RagbedError
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.text import storable_name
from ragbed.ui.viewer.cells import TrialCell, cell_of
from ragbed.ui.viewer.diagnosis import read_diagnosed, stamp_of
from ragbed.ui.viewer.documents import add_documents
from ragbed.ui.viewer.full_text import spaced
from ragbed.ui.viewer.index import open_index, read_meta, write_meta

PIECE = 2_000
"""Trials of one transaction: some tenths of a second, after which a page shows them."""
_LOOK_EVERY_S = 0.5
_AGAIN_AFTER_S = 5.0
"""After which a run that could not be read is tried again."""
_LONGEST_INDEXED = 20_000
"""Characters of a reply whose words are indexed, so that a runaway reply does not fill the disk."""


class Indexer:
    """Keeps the index of one run up to date.

    Args:
        run: The folder of the run.
        path: The file of the index.
    """

    def __init__(self, run: Path, path: Path) -> None:
        self._run, self._store = run, open_scored(run)
        planned = [value for (value,) in self._store.read("SELECT value FROM meta WHERE key = 'planned'")]
        self._index = open_index(path, " ".join(map(str, planned)))
        self.is_planned = bool(planned)
        """Before that a run has neither settings nor cases."""
        self._numbers: dict[TrialCell, int] = {}

    def close(self) -> None:
        """Closes both files."""
        self._store.connection.close()
        self._index.close()

    def step(self) -> bool:
        """Does a piece of what is to be done; False if there is nothing to do."""
        done = self._count_plan() or self._add_results() or self._replace_errors()
        done = done or self._add_documents() or self._add_types()
        if done and self._note("problem"):
            self.tell_problem("")
        return done

    def tell_problem(self, problem: str) -> None:
        """Notes for the pages why it does not go on."""
        with self._transaction():
            write_meta(self._index, problem=problem)

    def _count_plan(self) -> bool:
        ((cases,),) = self._store.read("SELECT rows FROM ledger WHERE what = 'cases'")
        if self._note("cases") == str(cases):
            return False
        counts: Counter[tuple[str, bool]] = Counter()
        for case in self._store.cases():
            counts[_condition(case), case.feasible] += 1
        with self._transaction():
            self._index.execute("DELETE FROM plan")
            rows = [(name, counts[name, True], counts[name, False]) for name in {name for name, _ in counts}]
            self._index.executemany("INSERT INTO plan VALUES (?, ?, ?)", rows)
            write_meta(self._index, cases=cases)
        return True

    def _add_results(self) -> bool:
        with self._transaction():
            last = int(self._note("last") or 0)
            found = list(self._store.results_after(last, PIECE))
            if found:
                self._add(found)
                write_meta(self._index, last=found[-1][0])
        return bool(found)

    def _add_documents(self) -> bool:
        with self._transaction():
            last = int(self._note("documents") or 0)
            found = list(self._store.cases_after(last, PIECE))
            if found:
                add_documents(self._index, found)
                write_meta(self._index, documents=found[-1][0])
        return bool(found)

    def _replace_errors(self) -> bool:
        """Takes up what a later session asked again: only an error can have become something else."""
        ((seals,),) = self._store.read("SELECT seals FROM ledger WHERE what = 'results'")
        if self._note("seals") == str(seals) or self._note("looked") == str(seals):
            return False
        with self._transaction():
            changed = [row for row in self._errors() if self._seal(row[1]) != row[3]]
            for trial, result, cell, seal in changed:
                self._index.execute("DELETE FROM trials WHERE id = ?", (trial,))
                self._index.execute("UPDATE cells SET trials = trials - 1 WHERE id = ?", (cell,))
                self._add_up(-1, -seal)
                self._add(self._store.results_after(result - 1, 1))
            write_meta(self._index, looked=seals)
        return True

    def _errors(self) -> list[tuple[int, int, int, int]]:
        query = (
            "SELECT id, result, cell, seal FROM trials WHERE cell IN (SELECT id FROM cells WHERE cell ->> 9 = 'error')"
        )
        return self._index.execute(query).fetchall()

    def _seal(self, result: int) -> int:
        ((seal,),) = self._store.read("SELECT seal FROM results WHERE rowid = ?", (result,))
        return int(seal)

    def _add(self, results: Iterable[tuple[int, StoredResult, int]]) -> None:
        cells: Counter[int] = Counter()
        seals = 0
        for result, stored, seal in results:
            cell, asked = self._number(cell_of(stored)), self._asked(result, stored.case)
            added = self._index.execute(
                "INSERT INTO trials (result, cell, asked, seal) VALUES (?, ?, ?, ?)", (result, cell, asked, seal)
            )
            self._index.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (added.lastrowid, _words(stored)))
            cells[cell] += 1
            seals += seal
        self._index.executemany(
            "UPDATE cells SET trials = trials + ? WHERE id = ?", [(count, cell) for cell, count in cells.items()]
        )
        self._add_up(cells.total(), seals)

    def _add_up(self, rows: int, seals: int) -> None:
        write_meta(self._index, rows=int(self._note("rows") or 0) + rows, seals=int(self._note("seals") or 0) + seals)

    def _number(self, cell: TrialCell) -> int:
        if cell not in self._numbers:
            told = msgspec.json.encode(cell).decode()
            self._index.execute("INSERT INTO cells (cell, trials) VALUES (?, 0) ON CONFLICT DO NOTHING", (told,))
            self._numbers[cell] = self._index.execute("SELECT id FROM cells WHERE cell = ?", (told,)).fetchone()[0]
        return self._numbers[cell]

    def _asked(self, result: int, case: Case) -> int:
        """The number of a trial's case, of which the index then knows the question."""
        ((number,),) = self._store.read("SELECT item FROM results WHERE rowid = ?", (result,))
        if not self._index.execute("SELECT 1 FROM asked WHERE id = ?", (number,)).fetchone():
            name = item_name(case.data, case.item)
            twin = None if case.twin is None else item_name(case.data, case.twin)
            add = "INSERT INTO items (name, item, dial, twin) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
            self._index.execute(add, (name, case.item, case.dial, twin))
            (item,) = self._index.execute("SELECT id FROM items WHERE name = ?", (name,)).fetchone()
            self._index.execute("INSERT INTO asked VALUES (?, ?)", (number, item))
        return int(number)

    def _add_types(self) -> bool:
        """Puts trials into the cells of what was diagnosed, and those that no longer are, back."""
        stamp = stamp_of(self._run)
        if stamp == (self._note("diagnosed") or ""):
            return False
        with self._transaction():
            self._index.execute("DELETE FROM evidence")
            for number, cell in self._typed():
                plain = self._number(msgspec.structs.replace(cell, types=()))
                self._move(plain, "cell = ?", (number,))
            for found in read_diagnosed(self._run):
                for trial, number in self._trials_of(found.case, found.model, found.repeat):
                    (told,) = self._index.execute("SELECT cell FROM cells WHERE id = ?", (number,)).fetchone()
                    cell = msgspec.json.decode(told, type=TrialCell)
                    self._move(self._number(msgspec.structs.replace(cell, types=found.types)), "id = ?", (trial,))
                    told = msgspec.json.encode(found.evidence).decode()
                    self._index.execute("INSERT OR REPLACE INTO evidence VALUES (?, ?)", (trial, told))
            self._index.execute("UPDATE cells SET trials = (SELECT COUNT(*) FROM trials WHERE trials.cell = cells.id)")
            write_meta(self._index, diagnosed=stamp)
        return True

    def _typed(self) -> list[tuple[int, TrialCell]]:
        rows = self._index.execute("SELECT id, cell FROM cells WHERE cell ->> 13 <> '[]'").fetchall()
        return [(number, msgspec.json.decode(told, type=TrialCell)) for number, told in rows]

    def _trials_of(self, case: str, model: str, repeat: int) -> list[tuple[int, int]]:
        rows = self._store.read(
            """SELECT r.rowid FROM cases c JOIN results r ON r.item = c.id JOIN models m ON m.id = r.model
            WHERE c.name = ? AND r.repeat = ? AND m.name IN (?, CASE ? WHEN '' THEN m.name END)""",
            (case, repeat, model, model),
        )
        found = "SELECT id, cell FROM trials WHERE result = ?"
        return [pair for (result,) in rows for pair in self._index.execute(found, (result,))]

    def _move(self, cell: int, where: str, values: tuple[int, ...]) -> None:
        self._index.execute(f"UPDATE trials SET cell = ? WHERE {where}", (cell, *values))  # noqa: S608 - ours

    def _note(self, key: str) -> str | None:
        return read_meta(self._index, key)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._index.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._index.commit()
        except BaseException:
            self._index.rollback()
            self._numbers.clear()  # those of new cells went with it
            raise


def item_name(data: str, item: str) -> str:
    """Return the name of an item, the same under all conditions."""
    return f"{data}/{item}"


class Kept(NamedTuple):
    """A run whose index is kept."""

    run: Path
    path: Path
    """Of the index."""
    file: tuple[int, int]
    """The run's, by the system's numbers: others mean that it was begun anew."""


def keep_indexes(inbox: Connection, parent: int) -> None:
    """Keeps the indexes of runs up to date, as a process of its own, until the one that began it is gone.

    Args:
        inbox: Brings the list of runs, and another one whenever it changes.
        parent: The process that serves.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this one
    os.nice(5)  # who reads a page goes first
    wanted: list[Kept] = []
    opened: dict[Kept, Indexer] = {}
    resting: dict[Kept, float] = {}
    worked = False
    while os.getppid() == parent:
        try:
            if inbox.poll(0.0 if worked else _LOOK_EVERY_S):
                wanted = inbox.recv()
                for gone in opened.keys() - set(wanted):
                    opened.pop(gone).close()
        except EOFError:
            return
        due = [kept for kept in wanted if resting.get(kept, 0.0) <= time.monotonic()]
        worked = sum(_advance(kept, opened, resting) for kept in due) > 0


def _advance(kept: Kept, opened: dict[Kept, Indexer], resting: dict[Kept, float]) -> bool:
    """Does a piece of a run's index; one that cannot be read rests for a while."""
    try:
        if kept not in opened:
            opened[kept] = Indexer(kept.run, kept.path)
        return opened[kept].step()
    except (RagbedError, sqlite3.Error, OSError) as error:
        resting[kept] = time.monotonic() + _AGAIN_AFTER_S
        if kept in opened:
            with suppress(sqlite3.Error):  # the index itself may be what cannot be written
                opened[kept].tell_problem(storable_name(str(error)))
        return False


def _condition(case: Case) -> str:
    told = (case.data, case.lang, case.testbed, case.noise, case.correct, case.k, case.arm, case.profile)
    return msgspec.json.encode(told).decode()


def _words(stored: StoredResult) -> str:
    case = stored.case
    answers = (alias for aliases in (*case.answer, *(case.fake or ())) for alias in aliases)
    reply = (stored.completion.reply or "")[:_LONGEST_INDEXED]
    return spaced("\n".join((case.question, *answers, reply)))

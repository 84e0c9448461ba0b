"""Build a run's index in batches, and keep it up to date while the run is in progress.

Each batch is one transaction that starts where the previous batch ended, so a viewer can be stopped at any time, and
two viewers can index the same run.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.errors import RagbedError
from ragbed.runs.condition import ClusterSizes
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.text import storable_name
from ragbed.ui.viewer.cells import COUNTED, TrialCell, cell_of
from ragbed.ui.viewer.diagnosis import read_diagnosed, stamp_of
from ragbed.ui.viewer.full_text import spaced
from ragbed.ui.viewer.index import open_index, read_meta, write_meta

PIECE = 2_000  # Number of trials per transaction, which takes a few tenths of a second.
_LOOK_EVERY_S = 0.5
_AGAIN_AFTER_S = 5.0  # Seconds before retrying a run that could not be read.
# Maximum number of characters to index from a response and from a document. Longer texts could fill the disk.
_LONGEST_RESPONSE, _LONGEST_DOCUMENT = 20_000, 100_000
_NO_TRIALS = [0] * (2 + len(COUNTED))


class Indexer:
    """Keeps the index of one run up to date.

    Before a run is planned (`is_planned`), it has neither settings nor cases.

    Args:
        run: Folder of the run.
        path: The index file.
    """

    def __init__(self, run: Path, path: Path) -> None:
        self._run, self._store = run, open_scored(run)
        planned = [value for (value,) in self._store.read("SELECT value FROM meta WHERE key = 'planned'")]
        self._index = open_index(path, " ".join(map(str, planned)))
        self.is_planned = bool(planned)
        self._numbers: dict[TrialCell, int] = {}

    def close(self) -> None:
        """Close the run and the index."""
        self._store.connection.close()
        self._index.close()

    def step(self) -> bool:
        """Index a batch and return whether there was anything to index."""
        done = self._count_plan() or self._add_results() or self._add_documents() or self._add_types()
        if done and self._note("problem"):
            self.note_problem("")
        return done

    def note_problem(self, problem: str) -> None:
        """Store the reason why indexing stopped, to be shown on the pages."""
        with self._transaction():
            write_meta(self._index, problem=problem)

    def _count_plan(self) -> bool:
        ((cases,),) = self._store.read("SELECT rows FROM ledger WHERE what = 'cases'")
        if self._note("cases") == str(cases):
            return False
        counts: Counter[tuple[str, bool]] = Counter()
        sizes = ClusterSizes()
        for case in self._store.cases():
            sizes.add(case)
            mix = (case.noise, case.true_ratio, case.k, case.arm, case.profile)
            condition = (case.data, case.lang, case.testbed, *mix)
            counts[msgspec.json.encode(condition).decode(), case.feasible] += 1
        with self._transaction():
            self._index.execute("DELETE FROM plan")
            rows = [(name, counts[name, True], counts[name, False]) for name in {name for name, _ in counts}]
            self._index.executemany("INSERT INTO plan VALUES (?, ?, ?)", rows)
            write_meta(self._index, cases=cases, largest=sizes.largest(self._store.repeats()))
        return True

    def _add_results(self) -> bool:
        with self._transaction():
            found = list(self._store.results_after(self._count("last"), PIECE))
            if found:
                self._remove_replaced()
                self._add(found)
                write_meta(self._index, last=found[-1][0])
        return bool(found)

    def _remove_replaced(self) -> None:
        """Remove failed results that were replaced in a later session; the new results have other numbers."""
        errors = self._index.execute(
            "SELECT t.id, result, asked, c.id, c.cell, seal FROM trials t JOIN cells c ON c.id = t.cell "
            "WHERE c.cell ->> 9 = 'error'"
        ).fetchall()
        for trial, result, asked, number, cell, seal in errors:
            if not list(self._store.read("SELECT 1 FROM results WHERE number = ?", (result,))):
                ((_, case),) = self._store.cases_after(asked - 1, 1)
                self._index.execute("DELETE FROM trials WHERE id = ?", (trial,))
                self._index.execute("UPDATE cells SET trials = trials - 1 WHERE id = ?", (number,))
                self._add_up(-1, -seal)
                removed = ClusterCounts()
                removed.add(msgspec.json.decode(cell, type=TrialCell), case, -1)
                removed.write(self._index)

    def _add_documents(self) -> bool:
        with self._transaction():
            found = list(self._store.cases_after(self._count("documents"), PIECE))
            for number, case in found:
                for document in case.documents:
                    pair = (self._passage(document.text), number)
                    self._index.execute("INSERT INTO shown VALUES (?, ?) ON CONFLICT DO NOTHING", pair)
            if found:
                write_meta(self._index, documents=found[-1][0])
        return bool(found)

    def _passage(self, text: str) -> int:
        """Return a document's ID in the index; the document is indexed only once, even if many cases contain it."""
        hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        found = self._index.execute("SELECT id FROM passages WHERE hash = ?", (hashed,)).fetchone()
        if found is not None:
            return int(found[0])
        number = self._index.execute("INSERT INTO passages (hash) VALUES (?)", (hashed,)).lastrowid
        row = (number, spaced(text[:_LONGEST_DOCUMENT]))
        self._index.execute("INSERT INTO documents (rowid, text) VALUES (?, ?)", row)
        return int(number or 0)

    def _add(self, results: Iterable[tuple[int, StoredResult, int]]) -> None:
        cells: Counter[int] = Counter()
        clusters, seals = ClusterCounts(), 0
        for result, stored, seal in results:
            scored = cell_of(stored)
            clusters.add(scored, stored.case)
            cell, asked = self._number(scored), self._asked(result, stored.case)
            added = self._index.execute(
                "INSERT INTO trials (result, cell, asked, seal) VALUES (?, ?, ?, ?)", (result, cell, asked, seal)
            )
            self._index.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (added.lastrowid, _words(stored)))
            cells[cell] += 1
            seals += seal
        self._index.executemany(
            "UPDATE cells SET trials = trials + ? WHERE id = ?", [(count, cell) for cell, count in cells.items()]
        )
        clusters.write(self._index)
        self._add_up(cells.total(), seals)

    def _add_up(self, rows: int, seals: int) -> None:
        write_meta(self._index, rows=self._count("rows") + rows, seals=self._count("seals") + seals)

    def _number(self, cell: TrialCell) -> int:
        if cell not in self._numbers:
            encoded = msgspec.json.encode(cell).decode()
            self._index.execute("INSERT INTO cells (cell, trials) VALUES (?, 0) ON CONFLICT DO NOTHING", (encoded,))
            self._numbers[cell] = self._index.execute("SELECT id FROM cells WHERE cell = ?", (encoded,)).fetchone()[0]
        return self._numbers[cell]

    def _asked(self, result: int, case: Case) -> int:
        """Return the ID of a trial's case, and add the case and its item to the index if they are new."""
        ((number,),) = self._store.read("SELECT item FROM results WHERE number = ?", (result,))
        if not self._index.execute("SELECT 1 FROM asked WHERE id = ?", (number,)).fetchone():
            name = item_name(case.data, case.item)
            twin = None if case.twin is None else item_name(case.data, case.twin)
            add = "INSERT INTO items (name, item, dial, twin) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
            self._index.execute(add, (name, case.item, case.dial, twin))
            (item,) = self._index.execute("SELECT id FROM items WHERE name = ?", (name,)).fetchone()
            self._index.execute("INSERT INTO asked VALUES (?, ?)", (number, item))
        return int(number)

    def _add_types(self) -> bool:
        """Move trials to the cells for their diagnosed error types."""
        stamp = stamp_of(self._run)
        if stamp == (self._note("diagnosed") or ""):
            return False
        with self._transaction():
            self._index.execute("DELETE FROM evidence")
            for number, cell in self._index.execute("SELECT id, cell FROM cells WHERE cell ->> 13 <> '[]'").fetchall():
                self._index.execute("UPDATE trials SET cell = ? WHERE cell = ?", (self._with_types(cell, ()), number))
            for found in read_diagnosed(self._run):
                evidence = msgspec.json.encode(found.evidence).decode()
                for trial, cell in self._trials_of(found.case, found.model, found.repeat):
                    row = (self._with_types(cell, found.types), trial)
                    self._index.execute("UPDATE trials SET cell = ? WHERE id = ?", row)
                    self._index.execute("INSERT OR REPLACE INTO evidence VALUES (?, ?)", (trial, evidence))
            self._index.execute("UPDATE cells SET trials = (SELECT COUNT(*) FROM trials WHERE trials.cell = cells.id)")
            write_meta(self._index, diagnosed=stamp)
        return True

    def _with_types(self, cell: str, types: tuple[str, ...]) -> int:
        """Return the ID of the cell that has these error types but otherwise equals the given cell."""
        return self._number(msgspec.structs.replace(msgspec.json.decode(cell, type=TrialCell), types=types))

    def _trials_of(self, case: str, model: str, repeat: int) -> list[tuple[int, str]]:
        rows = self._store.read(
            """SELECT r.number FROM cases c JOIN results r ON r.item = c.id JOIN models m ON m.id = r.model
            WHERE c.name = ? AND r.repeat = ? AND m.name IN (?, CASE ? WHEN '' THEN m.name END)""",
            (case, repeat, model, model),
        )
        found = "SELECT t.id, c.cell FROM trials t JOIN cells c ON c.id = t.cell WHERE t.result = ?"
        return [pair for (result,) in rows for pair in self._index.execute(found, (result,)).fetchall()]

    def _note(self, key: str) -> str | None:
        return read_meta(self._index, key)

    def _count(self, key: str) -> int:
        return int(self._note(key) or 0)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._index.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._index.commit()
        except BaseException:
            self._index.rollback()
            self._numbers.clear()  # The rollback also removed the IDs of new cells.
            raise


class ClusterCounts:
    """The changes to cluster counts for a batch of trials; `write` applies them to the index."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, str], list[int]] = {}

    def add(self, cell: TrialCell, case: Case, times: int = 1) -> None:
        """Add a trial, or remove it if `times` is −1."""
        # The prefix is needed because an event can have the same name as an unrelated item.
        cluster = f"item {case.item}" if case.event is None else f"event {case.event}"
        found = (1, cell.verdict == "unscored", *(cell.has(name) for name in COUNTED))
        key = (msgspec.json.encode(cell.condition).decode(), cluster)
        before = self._changes.get(key, _NO_TRIALS)
        self._changes[key] = [count + times * value for count, value in zip(before, found, strict=True)]

    def write(self, index: sqlite3.Connection) -> None:
        """Write the changes as part of the open transaction."""
        patterns: Counter[tuple[int, str, int, int]] = Counter()
        numbers: dict[str, int] = {}
        for (condition, cluster), change in self._changes.items():
            if condition not in numbers:
                numbers[condition] = _number_condition(index, condition)
            key = (numbers[condition], cluster)
            row = index.execute("SELECT counts FROM clusters WHERE condition = ? AND cluster = ?", key).fetchone()
            before = _NO_TRIALS if row is None else msgspec.json.decode(row[0])
            after = [count + more for count, more in zip(before, change, strict=True)]
            index.execute("INSERT OR REPLACE INTO clusters VALUES (?, ?, ?)", (*key, str(after)))
            patterns.subtract((key[0], *pattern) for pattern in _patterns(before))
            patterns.update((key[0], *pattern) for pattern in _patterns(after))
        add = """INSERT INTO patterns VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET clusters = clusters + excluded.clusters"""
        index.executemany(add, [(*pattern, count) for pattern, count in patterns.items() if count])


def _number_condition(index: sqlite3.Connection, condition: str) -> int:
    index.execute("INSERT INTO conditions (condition) VALUES (?) ON CONFLICT DO NOTHING", (condition,))
    (number,) = index.execute("SELECT id FROM conditions WHERE condition = ?", (condition,)).fetchone()
    return int(number)


def _patterns(counts: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """Yield the numbers of hits and trials for each score; only the robust track leaves trials unscored."""
    trials, unscored, *hits = counts
    for name, hit in zip(COUNTED, hits, strict=True):
        scored = trials - unscored if name == "correct" else trials
        if scored:
            yield name, hit, scored


def item_name(data: str, item: str) -> str:
    """Return an item's name, which is the same under all conditions."""
    return f"{data}/{item}"


class Kept(NamedTuple):
    """A run, the path of its index, and the run's device and inode, which change if the run is recreated."""

    run: Path
    path: Path
    file: tuple[int, int]


def keep_indexes(inbox: Connection, parent: int) -> None:
    """Keep the indexes of runs up to date in a separate process until the parent process exits.

    Args:
        inbox: Receives the list of runs whenever it changes.
        parent: Process that serves the pages.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which terminates this process.
    if hasattr(os, "nice"):  # not available on Windows
        os.nice(5)  # Lower this process's priority, so that pages are served first.
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
        except (EOFError, BrokenPipeError):  # The parent has exited; on Windows, getppid() still returns its old ID.
            return
        due = [kept for kept in wanted if resting.get(kept, 0.0) <= time.monotonic()]
        worked = sum(_advance(kept, opened, resting) for kept in due) > 0


def _advance(kept: Kept, opened: dict[Kept, Indexer], resting: dict[Kept, float]) -> bool:
    """Index a batch of a run's trials; if the run cannot be read, retry later."""
    try:
        if kept not in opened:
            opened[kept] = Indexer(kept.run, kept.path)
        return opened[kept].step()
    except (RagbedError, sqlite3.Error, OSError) as error:
        resting[kept] = time.monotonic() + _AGAIN_AFTER_S
        if kept in opened:
            with suppress(sqlite3.Error):  # The error cannot be stored in a read-only index.
                opened[kept].note_problem(storable_name(str(error)))
        return False


def _words(stored: StoredResult) -> str:
    case = stored.case
    answers = (alias for aliases in (*case.answer, *(case.fake or ())) for alias in aliases)
    response = (stored.completion.reply or "")[:_LONGEST_RESPONSE]
    return spaced("\n".join((case.question, *answers, response)))

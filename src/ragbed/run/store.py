"""The truth of a run: one SQLite file with its settings, every case, every intent to ask and every result."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import msgspec

from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.schema import Case, Completion

SCHEMA_VERSION = 1
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, feasible INTEGER NOT NULL, line BLOB NOT NULL);
CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, identity TEXT NOT NULL);
CREATE TABLE intents (
  model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, session INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE results (
  model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, session INTEGER NOT NULL,
  request TEXT NOT NULL, outcome TEXT NOT NULL, completion BLOB NOT NULL, cached INTEGER NOT NULL,
  checksum INTEGER NOT NULL, PRIMARY KEY (model, item, repeat)) WITHOUT ROWID;
CREATE TABLE orphans (model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, session INTEGER NOT NULL);
"""
INTEND = "INSERT INTO intents VALUES (?, ?, ?, ?, ?)"
# A result may take the place of an error only, which a later session was asked to try again.
RECORD = """INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET session = excluded.session, request = excluded.request, outcome = excluded.outcome,
  completion = excluded.completion, cached = excluded.cached, checksum = excluded.checksum
  WHERE results.outcome = 'error'"""
# Asked in a session, and no result of that session or a later one is there: the provider may have billed it.
_ORPHANS = """SELECT i.model, i.item, i.repeat, i.session FROM intents i LEFT JOIN results r USING (model, item, repeat)
  WHERE r.session IS NULL OR r.session < i.session"""


@dataclass(frozen=True)
class Ask:
    """One thing to be asked of a model: a case, for the n-th time."""

    model: int
    number: int
    """Of the case, in the order of the plan."""
    repeat: int
    case: Case


@dataclass(frozen=True)
class Stored:
    """One result as it was read back."""

    case: Case
    model: str
    repeat: int
    completion: Completion


class RunStore:
    """An open run. Writing goes through `Writer`; everything here is planning and reading."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection
        self._encoder = msgspec.json.Encoder()
        self._cases = msgspec.json.Decoder(Case)
        self._completions = msgspec.json.Decoder(Completion)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    # Planning: before the first call everything that will be asked is fixed.

    def plan(self, settings: dict[str, str], cases: Iterable[Case]) -> None:
        """Fixes settings and cases, in one transaction: a run is planned whole or not at all."""
        with self.connection:
            self.connection.executemany(
                "INSERT INTO cases (name, feasible, line) VALUES (?, ?, ?)",
                ((case.case, case.feasible, self._encoder.encode(case)) for case in cases),
            )
            self.connection.executemany("INSERT INTO meta VALUES (?, ?)", [(f"set.{k}", v) for k, v in settings.items()])
            self.connection.execute("INSERT INTO meta VALUES ('planned', ?)", (f"{time.time():.3f}",))

    def settings(self) -> dict[str, str]:
        """The settings it was begun with; empty if it was never planned."""
        rows = self.connection.execute("SELECT key, value FROM meta WHERE key LIKE 'set.%'")
        return {key.removeprefix("set."): value for key, value in rows}

    def add_model(self, name: str, identity: str) -> int:
        """The number of a model; one whose identity changed is refused, since its replies would mix with the old."""
        row = self.connection.execute("SELECT id, identity FROM models WHERE name = ?", (name,)).fetchone()
        if row is None:
            with self.connection:
                cursor = self.connection.execute("INSERT INTO models (name, identity) VALUES (?, ?)", (name, identity))
            return int(cursor.lastrowid or 0)
        if row[1] != identity:
            raise UsageError(f"{name} is not the model that {self.path.parent} was begun with; use another --out.")
        return int(row[0])

    def begin_session(self) -> int:
        """The number of this session; calls that an earlier one left open are put on record."""
        with self.connection:
            last = self.connection.execute("SELECT value FROM meta WHERE key = 'session'").fetchone()
            session = int(last[0]) + 1 if last else 1
            self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('session', ?)", (str(session),))
            self.connection.execute(f"INSERT INTO orphans {_ORPHANS}")
            self.connection.execute("DELETE FROM intents")
        return session

    # Reading.

    def pending(self, model: int, repeats: int) -> Iterator[Ask]:
        """What has no result yet, or ended in an error; read piece by piece."""
        query = """SELECT c.id, c.line FROM cases c WHERE c.feasible AND c.id > ? AND NOT EXISTS (
          SELECT 1 FROM results r WHERE r.model = ? AND r.item = c.id AND r.repeat = ? AND r.outcome != 'error')
          ORDER BY c.id LIMIT 256"""
        for repeat in range(repeats):
            last = 0
            while rows := self.connection.execute(query, (last, model, repeat)).fetchall():
                for last, line in rows:
                    yield Ask(model, last, repeat, self._cases.decode(line))

    def row(self, ask: Ask, session: int, request: str, completion: Completion, cached: bool) -> tuple[object, ...]:
        """A result as its row, sealed with a checksum."""
        encoded = self._encoder.encode(completion)
        seal = _seal(ask.model, ask.number, ask.repeat, request, encoded)
        return (ask.model, ask.number, ask.repeat, session, request, completion.outcome, encoded, cached, seal)

    def results(self) -> Iterator[Stored]:
        """Every result with its case, by model, case and repeat."""
        names = dict(self.connection.execute("SELECT id, name FROM models"))
        rows = self.connection.execute(
            """SELECT r.model, r.item, r.repeat, r.request, r.completion, r.checksum, c.line
            FROM results r JOIN cases c ON c.id = r.item ORDER BY r.model, r.item, r.repeat"""
        )
        for model, number, repeat, request, completion, checksum, line in rows:
            if _seal(model, number, repeat, request, completion) != checksum:
                raise DataError(self.path, f"the result of case {number} is damaged; restore the file from a copy")
            yield Stored(self._cases.decode(line), names[model], repeat, self._completions.decode(completion))

    def size(self, repeats: int) -> int:
        """How many times each model is to be asked."""
        (feasible,) = self.connection.execute("SELECT COUNT(*) FROM cases WHERE feasible").fetchone()
        return int(feasible) * repeats

    def done(self, model: int) -> int:
        """How many results of a model need not be asked for again."""
        query = "SELECT COUNT(*) FROM results WHERE model = ? AND outcome != 'error'"
        return int(self.connection.execute(query, (model,)).fetchone()[0])

    def orphans(self) -> list[tuple[str, str, int]]:
        """Calls that may have been paid without a reply to show for it: model, case, repeat."""
        rows = self.connection.execute(
            f"""SELECT m.name, c.name, o.repeat FROM (SELECT * FROM orphans UNION ALL {_ORPHANS}) o
            JOIN models m ON m.id = o.model JOIN cases c ON c.id = o.item ORDER BY m.id, c.id"""
        )
        return [(model, case, repeat) for model, case, repeat in rows]

    def counts(self) -> dict[str, dict[str, int]]:
        """Results by model and outcome."""
        counts: dict[str, dict[str, int]] = {name: {} for (name,) in self.connection.execute("SELECT name FROM models")}
        rows = self.connection.execute(
            "SELECT m.name, r.outcome, COUNT(*) FROM results r JOIN models m ON m.id = r.model GROUP BY 1, 2"
        )
        for model, outcome, count in rows:
            counts[model][outcome] = count
        return counts


def open_store(folder: Path, *, create: bool) -> RunStore:
    """Opens the run in a folder, making it first if wished."""
    path = folder / "run.sqlite"
    if not create and not path.is_file():
        raise UsageError(f"{folder} holds no run (no run.sqlite in it).")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = connect(path)
        _prepare(connection, path)
    except (sqlite3.Error, OSError) as error:
        raise RagbedError(f"{path} cannot be opened: {error}.") from error
    return RunStore(path, connection)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that is durable at every commit; may be handed to another thread."""
    connection = sqlite3.connect(path, check_same_thread=False)
    # The wait for a lock comes first: switching to the write-ahead log takes one.
    for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise RagbedError(f"{path} was made by a newer ragbed (schema {version}); upgrade ragbed.")
    if version == 0:
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")


def _seal(model: int, number: int, repeat: int, request: str, completion: bytes) -> int:
    return zlib.crc32(completion, zlib.crc32(f"{model} {number} {repeat} {request}".encode()))

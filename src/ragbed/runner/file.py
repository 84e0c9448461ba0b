"""The file of a run: its tables, their version, and how it is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.runner.lock import hold

NAME = "run.sqlite"
_APPLICATION = 0x52414742
"""Marks the file as ours ("RAGB"), so that another program's database is never filled with our tables."""
SCHEMA_VERSION = 1
MIGRATIONS: dict[int, str] = {}
"""What brings a file of a version to the next one; a file goes through all that it needs, each in one transaction."""

# A ledger counts rows and adds up their checksums as they are written: a row that a damaged page hides is missed.
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE ledger (what TEXT PRIMARY KEY, rows INTEGER NOT NULL, seals INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO ledger VALUES ('cases', 0, 0), ('results', 0, 0);
CREATE TABLE cases (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, feasible INTEGER NOT NULL, seal INTEGER NOT NULL,
  line BLOB NOT NULL);
CREATE INDEX feasible_cases ON cases (id) WHERE feasible;
CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, identity TEXT NOT NULL, seal INTEGER NOT NULL);
CREATE TABLE intents (
  model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, session INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE orphans (
  model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, session INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE results (
  model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, session INTEGER NOT NULL,
  request TEXT NOT NULL, outcome TEXT NOT NULL, cached INTEGER NOT NULL, seal INTEGER NOT NULL,
  completion BLOB NOT NULL);
CREATE UNIQUE INDEX one_result ON results (model, item, repeat);
CREATE INDEX failed_results ON results (model, item, repeat) WHERE outcome = 'error';
CREATE TRIGGER count_case AFTER INSERT ON cases BEGIN
  UPDATE ledger SET rows = rows + 1, seals = seals + new.seal WHERE what = 'cases'; END;
CREATE TRIGGER count_result AFTER INSERT ON results BEGIN
  UPDATE ledger SET rows = rows + 1, seals = seals + new.seal WHERE what = 'results'; END;
CREATE TRIGGER recount_result AFTER UPDATE ON results BEGIN
  UPDATE ledger SET seals = seals - old.seal + new.seal WHERE what = 'results'; END;
"""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Opens the file, making it first if need be; the caller holds the run's lock."""
    with naming(path, "opened"):
        connection = connect(path)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Opens the file without ever writing it, as another process may be doing; an old one is migrated first."""
    if not path.is_file():
        raise UsageError(_why_no_run(path.parent))
    with naming(path, "opened"):
        connection = _connect_reading(path)
        try:
            is_old = _check_version(connection, path) < SCHEMA_VERSION
        except BaseException:
            connection.close()
            raise
    if is_old:
        connection.close()
        with hold(path.parent):
            open_for_writing(path).close()
        return open_for_reading(path)
    return connection


def _why_no_run(folder: Path) -> str:
    if folder.is_file():
        return f"{folder} is a file, and a run is a folder; sums of runs are for `ragbed report` and `ragbed merge`."
    return f"{folder} holds no run (no {NAME} in it)." if folder.exists() else f"there is no folder {folder}."


def connect(path: Path) -> sqlite3.Connection:
    """A connection that is durable at every commit; may be handed to another thread."""
    connection = sqlite3.connect(path, check_same_thread=False)
    # The wait for a lock comes first: switching to the write-ahead log takes one. A plan that fits into the page cache
    # (16 MB, some thousand cases) is written once, and not page by page while it grows.
    for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


@contextmanager
def naming(path: Path, done: str) -> Iterator[None]:
    """Turns what SQLite says into an error that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise RagbedError(f"{path} cannot be {done}: {error}.") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a damaged name stands in SQLite's own message
        raise DataError(path, f"is damaged or no run ({error}); restore it from a copy") from error


def _connect_reading(path: Path) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        # Where nothing may be written SQLite cannot keep its index of the log; without a log none is needed.
        if path.with_name(f"{NAME}-wal").exists():
            raise
        return sqlite3.connect(f"{address}?immutable=1", uri=True)
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if (version, application) != (0, 0) and application != _APPLICATION:
        raise DataError(path, "is the database of another program")
    if version < 0:
        raise DataError(path, f"is damaged (schema {version}); restore it from a copy")
    if version > SCHEMA_VERSION:
        raise RagbedError(f"{path} was made by a newer ragbed (schema {version}); upgrade ragbed.")
    return int(version)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    version = _check_version(connection, path)
    if version == 0:
        with closing(connection.execute("SELECT COUNT(*) FROM sqlite_master")) as rows:
            if rows.fetchone()[0]:
                raise DataError(path, "is the database of another program")
        _change(connection, f"PRAGMA application_id = {_APPLICATION}; {_TABLES}", SCHEMA_VERSION)
        return
    for old in range(version, SCHEMA_VERSION):
        _change(connection, MIGRATIONS[old], old + 1)


def _change(connection: sqlite3.Connection, script: str, version: int) -> None:
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {version}; COMMIT;")
    except sqlite3.Error:
        connection.rollback()
        raise

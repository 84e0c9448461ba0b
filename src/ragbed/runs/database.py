"""A run's database: its tables, its schema version, and the connections for reading and writing it."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.io.locations import check_regular

NAME = "run.sqlite"
SCHEMA_VERSION = 5
_APPLICATION = 0x52414742  # "RAGB"; the application ID prevents us from writing to another program's database
_ENDINGS = ("", "-wal", "-shm", "-journal")  # suffixes of the files that SQLite opens for a database
_DISTRUST = ("trusted_schema = OFF", "cell_size_check = ON")  # safety settings for files from untrusted sources
_MAX_OBJECTS = 100  # maximum number of schema rows to compare; our schema has about 15
# Fixes for SQLite errors, by error code.
_FIXES = {
    sqlite3.SQLITE_FULL: "Free disk space and rerun the same command.",
    sqlite3.SQLITE_BUSY: "Wait until the other process has finished, then rerun the same command.",
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN), "Check the permissions of the file and its folder."
    ),
}

# `results.number` grows with every stored result, also when a result replaces a failed one. The `ledger` table stores
# row counts and the sums of the rows' checksums, so that the loss of a row can be detected.
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
  model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, session INTEGER NOT NULL, at REAL NOT NULL,
  lost INTEGER NOT NULL);
CREATE TABLE results (
  number INTEGER PRIMARY KEY, model INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL,
  session INTEGER NOT NULL, request TEXT NOT NULL, outcome TEXT NOT NULL, cached INTEGER NOT NULL,
  seal INTEGER NOT NULL, completion BLOB NOT NULL);
CREATE UNIQUE INDEX one_result ON results (model, item, repeat);
CREATE INDEX outcomes ON results (model, outcome, item, repeat);
CREATE TRIGGER count_case AFTER INSERT ON cases BEGIN
  UPDATE ledger SET rows = rows + 1, seals = seals + new.seal WHERE what = 'cases'; END;
CREATE TRIGGER count_result AFTER INSERT ON results BEGIN
  UPDATE ledger SET rows = rows + 1, seals = seals + new.seal WHERE what = 'results'; END;
CREATE TRIGGER recount_result AFTER UPDATE ON results BEGIN
  UPDATE ledger SET seals = seals - old.seal + new.seal WHERE what = 'results'; END;
"""


class EmptyRun(UsageError):
    """Raised when the run's file has no tables, because it was never written."""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the file, creating it if necessary; the caller must hold the run's lock."""
    with naming(path, "opened"), _closed_on_error(connect(path)) as connection:
        if not _has_tables(connection, path):
            settings = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION}"
            try:
                connection.executescript(f"BEGIN IMMEDIATE; {settings}; {_TABLES}; COMMIT;")
            except sqlite3.Error:
                connection.rollback()
                raise
        return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the file read-only, even while another process writes to it.

    Raises:
        UsageError: There is no run.
        EmptyRun: The file has no tables.
    """
    if not path.exists():
        parent = path.parent
        problem = f"contains no run ({NAME} is missing)" if parent.is_dir() else "does not exist"
        problem = "is a file, but a run must be a folder" if parent.is_file() else problem
        raise UsageError(f"{parent} {problem}. Choose the folder of a run (`ragbed run … --out RUN`).")
    with naming(path, "opened"), _closed_on_error(_connect_reading(path)) as connection:
        if not _has_tables(connection, path):
            raise EmptyRun(f"{path.parent} contains no run ({NAME} is empty). Choose the folder of a run.")
        return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def close_written(connection: sqlite3.Connection) -> None:
    """Close the last writing connection and remove the write-ahead log, so that readers need only one file."""
    with suppress(sqlite3.Error):  # if the disk is full, the run is complete only with its log, which is kept
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError:  # another process is reading the file
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that can be used in another thread and whose commits are durable."""
    # The busy timeout is set first, because switching to the write-ahead log requires a lock. A plan of a few thousand
    # cases fits into the 16 MB page cache, so SQLite writes the plan in one step rather than page by page. The log is
    # copied into the file only when it reaches 16 MB, so a run of 1,000 calls copies it once, when the file is closed.
    settings = ["busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL", "cache_size = -16000"]
    return _connect(path, str(path), *settings, "wal_autocheckpoint = 4000")


def _connect_reading(path: Path) -> sqlite3.Connection:
    return _connect(path, f"{path.absolute().as_uri()}?mode=ro", "busy_timeout = 10000", "query_only = ON")


def _connect(path: Path, address: str, *settings: str) -> sqlite3.Connection:
    for ending in _ENDINGS:
        check_regular(path.with_name(f"{NAME}{ending}"))  # refuse links, pipes and devices
    connection = sqlite3.connect(address, uri=address.startswith("file:"), check_same_thread=False)
    with _closed_on_error(connection):
        for pragma in (*_DISTRUST, *settings):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        return connection


@contextmanager
def naming(path: Path, done: str) -> Iterator[None]:
    """Convert SQLite errors to errors that name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        fix = _FIXES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "")  # the low byte is the primary code
        raise RagbedError(f"{path} cannot be {done}: {error}. {fix}".rstrip()) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's message may contain a name that is not valid UTF-8
        raise DataError(path, f"is damaged or not a run ({error}); restore the file from a backup") from error


def _has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether a file has our tables, or False if it is empty.

    Raises:
        RagbedError: The file was written by another version of ragbed.
        DataError: The file was not written by ragbed, or its schema does not match its version.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    found = _objects(connection)
    if (version, application, found) == (0, 0, frozenset()):
        return False
    if application != _APPLICATION:
        raise DataError(path, "is another program's database, not a run; choose another folder")
    if version != SCHEMA_VERSION:
        raise RagbedError(
            f"{path} was written by another version of ragbed (schema {version} instead of {SCHEMA_VERSION}). Use that "
            "version, or evaluate again."
        )
    if found != _our_objects():
        raise DataError(
            path, "does not have the schema of a run and may be corrupt or malicious; restore it from a backup"
        )
    return True


def _objects(connection: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?"
    return frozenset(connection.execute(query, (_MAX_OBJECTS,)).fetchall())


@cache
def _our_objects() -> frozenset[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        return _objects(connection)


def seal_of(content: object, *fields: object) -> int:
    """Return the checksum of a row, which covers its content and the fields that identify it.

    Values of any type are accepted, because a damaged file may contain any value; its checksum then differs.
    """
    data = content if isinstance(content, bytes) else str(content).encode("utf-8", "surrogatepass")
    return zlib.crc32("\x1f".join(map(str, fields)).encode("utf-8", "surrogatepass"), zlib.crc32(data))

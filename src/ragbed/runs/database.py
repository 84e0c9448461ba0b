"""A run's database: its tables, schema version and connections, and the sorting of cases by prompt."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import takewhile
from pathlib import Path

from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.io.locations import check_regular

NAME = "run.sqlite"
_ENDINGS = ("", "-wal", "-shm", "-journal")  # suffixes of the files that SQLite opens for a database
_APPLICATION = 0x52414742  # "RAGB"; the application ID prevents us from writing to another program's database
SCHEMA_VERSION = 4
_DISTRUST = ("trusted_schema = OFF", "cell_size_check = ON")  # safety settings for files from untrusted sources
_MAX_OBJECTS = 100  # maximum number of schema rows to compare; our schema has about 15
_STEPS = 1_000_000  # SQLite virtual machine instructions between calls to the progress handler: about 10 ms
_FREE_CALLS = 5  # number of progress handler calls allowed for any query, regardless of the file size
# A query is allowed one more progress handler call for every 50,000 bytes of the file, i.e. 20 instructions per byte;
# our queries need about 2.
_BYTES_PER_CALL = 50_000
# Fixes for SQLite errors, by error code.
_FIXES = {
    sqlite3.SQLITE_FULL: "Free disk space and rerun the same command.",
    sqlite3.SQLITE_BUSY: "Wait until the other process has finished, then rerun the same command.",
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN), "Check the permissions of the file and its folder."
    ),
}

# The `ledger` table stores row counts and the sums of the rows' checksums, so that the loss of a row can be detected.
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
# A sample of one case in twenty, within the limits below, is run first. A larger sample would reduce the reuse of
# prompt prefixes.
_SAMPLE_SHARE = 20
_MIN_SAMPLE, _MAX_SAMPLE = 3, 8

# SQLite sorts in a temporary file to save memory. The sample is ordered by multiples of 619 modulo 1,000, so that
# its first cases come from all parts of the sorted list.
_CREATE_PROMPT_ORDER = """CREATE TEMP TABLE {table} AS
  WITH pending AS (
    SELECT id, json_extract(CAST(line AS TEXT), '$.messages') AS prompt FROM cases c WHERE feasible AND {pending}),
  sorted AS (SELECT id, prompt, row_number() OVER (ORDER BY prompt, id) - 1 AS at FROM pending),
  placed AS (
    SELECT *, at % :step != :step / 2 AS is_rest,
      CASE WHEN at % :step = :step / 2 THEN at / :step * 619 % 1000 ELSE at END AS turn FROM sorted)
  SELECT id, unshared(prompt, lag(prompt) OVER (ORDER BY is_rest, turn, at)) AS size
  FROM placed ORDER BY is_rest, turn, at"""


class EmptyRun(UsageError):
    """Raised when the run's file has no tables: it was never written, or its write-ahead log is lost."""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the file, creating it if necessary; the caller must hold the run's lock."""
    with naming(path, "opened"), _closed_on_error(connect(path)) as connection:
        _prepare(connection, path)
        return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the file read-only, even while another process writes to it."""
    if not path.exists():
        raise UsageError(_why_no_run(path.parent))
    with naming(path, "opened"), _closed_on_error(_connect_reading(path)) as connection:
        version = _check_version(connection, path)
        if version == 0:
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


def is_open_elsewhere(path: Path) -> bool:
    """Return whether another process has the file open for writing, in which case the file is in WAL mode."""
    if not path.exists():
        return False
    with naming(path, "opened"):
        _check_files(path)
        with closing(sqlite3.connect(path, timeout=0)) as connection:
            StepLimit(path, connection)
            try:
                connection.execute("PRAGMA journal_mode = DELETE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                    return True
                raise
    return False


class StepLimit:
    """Aborts queries that would run forever on a malicious file; the maximum number of steps depends on the file size.

    Args:
        path: The file.
        connection: A connection for reading it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._calls, self._limit = path, 0, 0
        self.restart()
        connection.set_progress_handler(self._count, _STEPS)

    def restart(self) -> None:
        """Reset the step count before another query."""
        self._calls = 0

    def _count(self) -> bool:
        self._calls += 1
        if self._calls > self._limit:  # the limit is recomputed, because the file may have grown
            with suppress(OSError):
                sizes = (self._path.with_name(f"{NAME}{ending}") for ending in _ENDINGS[:2])
                size = sum(file.stat().st_size for file in sizes if file.exists())
                self._limit = _FREE_CALLS + size // _BYTES_PER_CALL
        return self._calls > self._limit


def _why_no_run(folder: Path) -> str:
    if folder.is_file():
        return f"{folder} is a file, but a run must be a folder. Choose the folder of a run (`ragbed run … --out RUN`)."
    problem = f"contains no run ({NAME} is missing)" if folder.exists() else "does not exist"
    return f"{folder} {problem}. Choose the folder of a run (`ragbed run … --out RUN`)."


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that can be used in another thread and whose commits are durable."""
    _check_files(path)
    connection = sqlite3.connect(path, check_same_thread=False)
    # The busy timeout is set first, because switching to the write-ahead log requires a lock. A plan of a few thousand
    # cases fits into the 16 MB page cache, so SQLite writes the plan in one step rather than page by page. The log is
    # copied into the file only when it reaches 16 MB, so a run of 1,000 calls copies it once, when the file is closed.
    settings = ["busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL", "cache_size = -16000"]
    settings.append("wal_autocheckpoint = 4000")
    _read_schema(connection, path, settings)
    connection.set_progress_handler(None, 0)
    return connection


def _read_schema(connection: sqlite3.Connection, path: Path, settings: Sequence[str]) -> None:
    """Read the schema with a step limit, because reading a malicious schema may take forever."""
    with _closed_on_error(connection):
        StepLimit(path, connection)
        for pragma in (*_DISTRUST, *settings):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()


def _check_files(path: Path) -> None:
    """Raise an error if one of the files that SQLite opens is a link, a pipe or a device."""
    for ending in _ENDINGS:
        check_regular(path.with_name(f"{NAME}{ending}"))


@contextmanager
def naming(path: Path, done: str) -> Iterator[None]:
    """Convert SQLite errors to errors that name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise DataError(
                path, "takes too long to read for its size, so it may be corrupt or malicious; restore it from a backup"
            ) from error
        fix = _FIXES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "")  # the low byte is the primary code
        raise RagbedError(f"{path} cannot be {done}: {error}. {fix}".rstrip()) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's message may contain a name that is not valid UTF-8
        raise DataError(path, f"is damaged or not a run ({error}); restore the file from a backup") from error


def _connect_reading(path: Path) -> sqlite3.Connection:
    _check_files(path)
    try:
        return _connect_as(path, "mode=ro")
    except sqlite3.OperationalError as error:
        # On a read-only disk, SQLite cannot create the index of the write-ahead log. If there is no log, no index is
        # needed.
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT or path.with_name(f"{NAME}-wal").exists():
            raise
        return _connect_as(path, "immutable=1")


def _connect_as(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, check_same_thread=False)
    _read_schema(connection, path, ("busy_timeout = 10000", "query_only = ON"))
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version, or 0 for an empty file.

    Raises:
        DataError: The file was not written by ragbed, or its schema does not match its version.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    found = _objects(connection)
    if (version, application, found) == (0, 0, frozenset()):
        return 0
    if application != _APPLICATION:
        raise DataError(path, "is another program's database, not a run; choose another folder")
    if version > SCHEMA_VERSION:
        raise RagbedError(f"{path} was written by a newer version of ragbed (schema {version}). Upgrade ragbed.")
    if version < 1:
        raise DataError(path, f"has an invalid schema version ({version}); restore the file from a backup")
    if version < SCHEMA_VERSION:
        raise RagbedError(f"{path} was written by ragbed before 0.2; evaluate again.")
    if strange := found ^ _our_objects():
        kind, name = min((str(row[0]), str(row[1])) for row in strange)
        raise DataError(
            path,
            f"contains the {kind} {name!r}, which is not part of the run schema, so the file may be corrupt or "
            "malicious; restore it from a backup",
        )
    return int(version)


def _objects(connection: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?"
    return frozenset(connection.execute(query, (_MAX_OBJECTS,)).fetchall())


@cache
def _our_objects() -> frozenset[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        return _objects(connection)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if _check_version(connection, path) == 0:
        settings = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION}"
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {settings}; {_TABLES}; COMMIT;")
        except sqlite3.Error:
            connection.rollback()
            raise


def prompt_order_table(model: int) -> str:
    """Return the name of the temporary table that holds a model's case order."""
    return f"by_prompt_{model}"


def sort_by_prompt(connection: sqlite3.Connection, model: int, pending: str, values: dict[str, int]) -> None:
    """Write a model's pending cases to its temporary table, in evaluation order.

    Sorted prompts share the longest prefixes. However, all short prompts might come first, so that the time for long
    prompts could not be estimated. A sample of all prompts is therefore evaluated first.

    Args:
        connection: The connection to the run.
        model: The model's number.
        pending: The SQL condition for a case `c` to be pending.
        values: The parameters of the condition.
    """
    connection.create_function("unshared", 2, _unshared, deterministic=True)
    connection.execute(f"DROP TABLE IF EXISTS temp.{prompt_order_table(model)}")
    count = f"SELECT COUNT(*) FROM cases c WHERE feasible AND {pending}"  # noqa: S608 - a condition of ours
    ((cases,),) = connection.execute(count, values)
    step = max(1, cases // min(_MAX_SAMPLE, max(_MIN_SAMPLE, cases // _SAMPLE_SHARE)))
    connection.execute(
        _CREATE_PROMPT_ORDER.format(table=prompt_order_table(model), pending=pending), values | {"step": step}
    )


def _unshared(prompt: str, previous: str | None) -> int:
    """Return the number of characters in a prompt after the prefix that it shares with the previous prompt."""
    pairs = zip(prompt, previous or "", strict=False)
    return len(prompt) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

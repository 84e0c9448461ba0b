"""A run's index: each trial's cell, and the words in its question, answer, response and documents.

It is a cache, so a deleted index is created again. It is in the user's cache folder, so viewing a run changes nothing
in the run's folder.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from ragbed.scoring.version import SCORER_VERSION

_FOLDER = "view"
_UNUSED_S = 30 * 86_400
_VERSION = 6
# `clusters` contains, for each question or event and each condition, the numbers of trials, unscored trials and hits
# by score (see `COUNTED`). `patterns` counts the clusters by hits and trials, to compute confidence intervals.
# `passages` and `shown` record which cases show a document, so that each text is indexed only once.
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (id INTEGER PRIMARY KEY, cell TEXT NOT NULL UNIQUE, trials INTEGER NOT NULL);
CREATE TABLE plan (condition TEXT PRIMARY KEY, planned INTEGER NOT NULL, infeasible INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE conditions (id INTEGER PRIMARY KEY, condition TEXT NOT NULL UNIQUE);
CREATE TABLE clusters (
  condition INTEGER NOT NULL, cluster TEXT NOT NULL, counts TEXT NOT NULL,
  PRIMARY KEY (condition, cluster)) WITHOUT ROWID;
CREATE TABLE patterns (
  condition INTEGER NOT NULL, score TEXT NOT NULL, hits INTEGER NOT NULL, trials INTEGER NOT NULL,
  clusters INTEGER NOT NULL, PRIMARY KEY (condition, score, hits, trials)) WITHOUT ROWID;
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, item TEXT NOT NULL, dial TEXT, twin TEXT);
CREATE TABLE asked (id INTEGER PRIMARY KEY, item INTEGER NOT NULL);
CREATE TABLE trials (
  id INTEGER PRIMARY KEY, result INTEGER NOT NULL UNIQUE, cell INTEGER NOT NULL, asked INTEGER NOT NULL,
  seal INTEGER NOT NULL);
CREATE TABLE evidence (trial INTEGER PRIMARY KEY, told TEXT NOT NULL);
CREATE INDEX in_cell ON trials (cell, id, result);
CREATE INDEX of_twin ON items (twin) WHERE twin IS NOT NULL;
CREATE INDEX of_item ON asked (item);
CREATE INDEX of_case ON trials (asked, cell);
CREATE VIRTUAL TABLE words USING fts5 (text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
CREATE TABLE passages (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE);
CREATE TABLE shown (passage INTEGER NOT NULL, asked INTEGER NOT NULL, PRIMARY KEY (passage, asked)) WITHOUT ROWID;
CREATE VIRTUAL TABLE documents USING fts5 (
  text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
"""


def index_path(run: Path, cache_folder: Path) -> Path:
    """Return the path of a run's index, whether or not it exists."""
    name = hashlib.sha256(str(run.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return cache_folder / _FOLDER / f"{name}.sqlite"


def remove_unused(cache_folder: Path) -> None:
    """Delete indexes that no viewer has opened for a month, including indexes of deleted runs."""
    oldest = time.time() - _UNUSED_S
    for file in (cache_folder / _FOLDER).glob("*.sqlite*"):
        with suppress(OSError):  # Another viewer may delete the index at the same time.
            if file.stat().st_mtime < oldest:
                file.unlink()


def open_index(path: Path, run_stamp: str) -> sqlite3.Connection:
    """Open an index for writing, replacing one that is damaged or belongs to another run or scorer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp = f"{_VERSION} {SCORER_VERSION} {run_stamp}"
    with suppress(sqlite3.DatabaseError):
        connection = _connect(path)
        if read_meta(connection, "stamp") == stamp:
            os.utime(path)
            return connection
        connection.close()
    for ending in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
    connection = _connect(path)
    connection.executescript(f"BEGIN; {_TABLES} COMMIT;")
    write_meta(connection, stamp=stamp)
    connection.commit()
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open an index for reading while another process writes to it."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA busy_timeout = 2000")
    return connection


def read_meta(connection: sqlite3.Connection, key: str) -> str | None:
    """Return a metadata value from the index, or None if there is no such value or no index yet."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
        return None
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def write_meta(connection: sqlite3.Connection, **notes: object) -> None:
    """Write metadata values as part of the open transaction."""
    rows = [(key, str(value)) for key, value in notes.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    # With these settings, readers never wait for the writer. Batches lost in a power failure are indexed again.
    for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = NORMAL", "cache_size = -32000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection

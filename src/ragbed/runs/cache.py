"""The response cache for all runs; cache keys include the model, its identity, the complete request and the repeat.

Several processes may share one file. If the cache fails, the failure is reported once and the run continues without it.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragbed.errors import MALFORMED_JSON, RagbedError, option
from ragbed.io.file_lock import lock_file
from ragbed.models.base import ENDED_EARLY
from ragbed.runs.database import seal_of
from ragbed.schema import Completion

# Finish reasons of incomplete responses, for model objects that do not report truncation as an outcome.
_INCOMPLETE = frozenset({*ENDED_EARLY, "max_tokens", "content_filter"})
_TABLE = """CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, at REAL NOT NULL, seal INTEGER NOT NULL,
  completion BLOB NOT NULL) WITHOUT ROWID"""
_PRAGMAS = "PRAGMA busy_timeout = 30000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"


def key_of(model: str, identity: str, request: bytes, repeat: int) -> str:
    """Return the cache key for a request."""
    parts = (model.encode(), identity.encode(), request, str(repeat).encode())
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


class Cache:
    """A file of cached responses.

    Args:
        path: The file; it and its folder are created if necessary.
        tell: Called once if the file cannot be used.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self._path, self._tell = path, tell
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = open_cache(path)
        except RagbedError as error:
            tell(f"{error} The run continues without the cache.")

    def find(self, key: str) -> tuple[Completion, int] | None:
        """Return the response under a key and when it was received (seconds since 1970), or None if there is none."""
        for *fields, seal, encoded in self._execute("SELECT * FROM responses WHERE key = ?", key):
            with suppress(*MALFORMED_JSON):
                if seal_of(encoded, *fields) == seal:
                    return msgspec.json.decode(encoded, type=Completion), int(fields[1])
        return None

    def keep(self, key: str, completion: Completion) -> None:
        """Store a complete response. The write-ahead log is not flushed, because a lost response costs one call."""
        if completion.outcome == "ok" and completion.finish not in _INCOMPLETE:
            encoded, fields = msgspec.json.encode(completion), (key, time.time())
            insert = "INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?)"
            self._execute(insert, *fields, seal_of(encoded, *fields), encoded)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()

    def _execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self._tell(f"{_unusable(self._path, error)} The run continues without the cache.")
            self._connection.close()
            self._connection = None
            return []


def open_cache(path: Path) -> sqlite3.Connection:
    """Open a cache, creating it if necessary.

    Raises:
        RagbedError: The file cannot be used.
    """
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Switching a database to write-ahead logging fails while another process is opening it, no matter how long the
        # timeout is.
        with lock_file(path.with_name(f"{path.name}.lock"), wait_s=math.inf):
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                connection.executescript(f"{_PRAGMAS} {_TABLE};")
            except BaseException:
                connection.close()
                raise
            return connection


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: BaseException) -> RagbedError:
    reason = str(getattr(error, "strerror", None) or error).rstrip(".")
    advice = (
        f"Set RAGBED_CACHE_DIR to another folder, or use {option('cache', 'off')}. If the file is damaged, delete it."
    )
    return RagbedError(f"the response cache {path} cannot be used: {reason}. {advice}")


class CacheSize(NamedTuple):
    """The number of responses in a cache, and its size on disk."""

    path: str
    entries: int = 0
    megabytes: float = 0.0


def look(path: Path) -> CacheSize:
    """Measure a cache; a missing cache counts as empty and is not created."""
    if not path.is_file():
        return CacheSize(str(path))
    query = "SELECT (SELECT COUNT(*) FROM responses), page_count * page_size FROM pragma_page_count, pragma_page_size"
    with _explained(path), closing(open_cache(path)) as connection:
        entries, size = connection.execute(query).fetchone()
    return CacheSize(str(path), entries, size / 1e6)

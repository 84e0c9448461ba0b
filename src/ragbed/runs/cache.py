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
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from ragbed.errors import MALFORMED_JSON, RagbedError
from ragbed.io.file_lock import lock_file
from ragbed.models.base import ENDED_EARLY
from ragbed.runs.database import seal_of
from ragbed.schema import Completion

# Finish reasons of incomplete responses, for model objects that do not report truncation as an outcome.
_INCOMPLETE = frozenset({*ENDED_EARLY, "max_tokens", "content_filter"})
_SAVE_AT = 64  # number of unsaved responses that triggers a commit; a lost response costs only one call
_VERSION = 2
_FIX = "Set RAGBED_CACHE_DIR to another folder, or use cache=off. If the file is damaged, delete it."
_TABLE = """CREATE TABLE replies (key TEXT PRIMARY KEY, model TEXT NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
  seal INTEGER NOT NULL, completion BLOB NOT NULL) WITHOUT ROWID"""


_Entry: TypeAlias = tuple[str, str, str, float, int, bytes]  # a row of the table


class CachedResponse(NamedTuple):
    """A cached response: the run that received it, and when, in seconds since 1970."""

    completion: Completion
    run: str
    at: int


def key_of(model: str, identity: str, request: bytes, repeat: int) -> str:
    """Return the cache key for a request."""
    hasher = hashlib.sha256(_framed(model) + _framed(identity) + len(request).to_bytes(8, "big"))
    hasher.update(request)
    hasher.update(_framed(str(repeat)))
    return hasher.hexdigest()


@cache
def _framed(part: str) -> bytes:
    encoded = part.encode()
    return len(encoded).to_bytes(8, "big") + encoded


def is_whole(completion: Completion) -> bool:
    """Return whether to cache a response; errors and filtered or truncated responses are not cached."""
    return completion.outcome == "ok" and completion.finish not in _INCOMPLETE


class Cache:
    """A file of cached responses.

    Args:
        path: The file; it and its folder are created if necessary.
        run: The ID of the run that uses the cache.
        tell: Called once if the file cannot be used.
    """

    def __init__(self, path: Path, run: str, tell: Callable[[str], None]) -> None:
        self._path, self.run, self._tell = path, run, tell
        self._unsaved: dict[str, _Entry] = {}
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = open_cache(path)
        except RagbedError as error:
            tell(f"{error} The run continues without the cache.")

    def find(self, key: str) -> CachedResponse | None:
        """Return the response that is stored under a key, or None if there is none or it is damaged."""
        entry = self._unsaved.get(key)
        if entry is None and self._connection is not None:
            try:
                entry = self._connection.execute("SELECT * FROM replies WHERE key = ?", (key,)).fetchone()
            except sqlite3.Error as error:
                self._abandon(error)
        if entry is not None:
            *fields, seal, encoded = entry
            with suppress(*MALFORMED_JSON):
                if seal_of(encoded, *fields) == seal:
                    return CachedResponse(self._decoder.decode(encoded), entry[2], int(entry[3]))
        return None

    def keep(self, key: str, model: str, completion: Completion) -> None:
        """Store a response if it is complete."""
        if self._connection is None or not is_whole(completion):
            return
        encoded, fields = msgspec.json.encode(completion), (key, model, self.run, time.time())
        self._unsaved[key] = (*fields, seal_of(encoded, *fields), encoded)
        if len(self._unsaved) >= _SAVE_AT:
            self._save()

    def close(self) -> None:
        """Write the remaining responses and close the file."""
        self._save()
        if self._connection is not None:
            self._connection.close()

    def _save(self) -> None:
        if self._connection is not None:
            try:
                with self._connection as connection:
                    insert = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)"
                    connection.executemany(insert, self._unsaved.values())
            except sqlite3.Error as error:
                self._abandon(error)
        self._unsaved.clear()

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Completion]:
        return msgspec.json.Decoder(Completion)

    def _abandon(self, error: BaseException) -> None:
        if self._connection is not None:
            self._tell(f"{_unusable(self._path, error)} The run continues without the cache.")
            self._connection.close()
            self._connection = None


def open_cache(path: Path) -> sqlite3.Connection:
    """Open a cache, creating it if necessary.

    Raises:
        RagbedError: The file cannot be used.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Switching a database to write-ahead logging fails while another process is opening it, no matter how long the
        # timeout is.
        with lock_file(path.with_name(f"{path.name}.lock"), wait_s=math.inf):
            return _open(path)
    except (sqlite3.Error, OSError) as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: BaseException) -> RagbedError:
    reason = str(getattr(error, "strerror", None) or error).rstrip(".")
    return RagbedError(f"the response cache {path} cannot be used: {reason}. {_FIX}")


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        for pragma in ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = NORMAL"):
            connection.execute(f"PRAGMA {pragma}")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise RagbedError(f"the response cache {path} was written by a newer version of ragbed. Upgrade ragbed.")
        if version < _VERSION:
            with closing(connection.cursor()) as cursor:
                change = f"DROP TABLE IF EXISTS replies; {_TABLE}; PRAGMA user_version = {_VERSION};"
                cursor.executescript(f"BEGIN IMMEDIATE; {change} COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


@dataclass(frozen=True)
class CacheSize:
    """The number of responses in a cache, and its size on disk, including the write-ahead log."""

    path: str
    entries: int = 0
    megabytes: float = 0.0


def look(path: Path) -> CacheSize:
    """Measure a cache; a missing cache counts as empty and is not created."""
    if not path.is_file():
        return CacheSize(str(path))
    with _opened(path) as connection:
        (entries,) = connection.execute("SELECT COUNT(*) FROM replies").fetchone()
    files = (path, path.with_name(f"{path.name}-wal"))
    size = sum(file.stat().st_size for file in files if file.exists())
    return CacheSize(str(path), entries, size / 1e6)


def prune(path: Path, older_than_s: float) -> int:
    """Remove responses of at least the given age (0 removes all), and return the number removed."""
    if not path.is_file():
        return 0
    with _opened(path) as connection:
        with connection:
            before = time.time() - older_than_s if older_than_s else float("inf")
            removed = connection.execute("DELETE FROM replies WHERE at <= ?", (before,)).rowcount
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return removed


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(open_cache(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise _unusable(path, error) from error

"""Measure and prune the response cache, even while runs are using it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ragbed.errors import RagbedError
from ragbed.runs.cache import open_cache

_FIX = (
    "Check the permissions of the file and the free disk space, and rerun the command when no run is using the cache. "
    "If the file is damaged, delete it."
)


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
    with _open(path) as connection:
        (entries,) = connection.execute("SELECT COUNT(*) FROM replies").fetchone()
    files = (path, path.with_name(f"{path.name}-wal"))
    size = sum(file.stat().st_size for file in files if file.exists())
    return CacheSize(str(path), entries, size / 1e6)


def prune(path: Path, older_than_s: float) -> int:
    """Remove responses of at least the given age (0 removes all), and return the number removed."""
    if not path.is_file():
        return 0
    with _open(path) as connection:
        with connection:
            before = time.time() - older_than_s if older_than_s else float("inf")
            removed = connection.execute("DELETE FROM replies WHERE at <= ?", (before,)).rowcount
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return removed


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(open_cache(path, _FIX)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise RagbedError(f"the response cache {path} cannot be used: {error}. {_FIX}") from error

"""Looking into the response cache and pruning it, also while runs use it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ragbed.errors import RagbedError
from ragbed.runs.cache import open_cache


@dataclass(frozen=True)
class CachedModel:
    """The replies of one model."""

    model: str
    entries: int
    megabytes: float
    oldest: str
    newest: str


@dataclass(frozen=True)
class Contents:
    """What a cache holds."""

    path: str
    entries: int = 0
    megabytes: float = 0.0
    """On the disk, its log included."""
    parts: list[CachedModel] = field(default_factory=list)


def look(path: Path) -> Contents:
    """Counts a cache's replies by model; one that was never made is empty, and stays unmade."""
    if not path.is_file():
        return Contents(str(path))
    with closing(open_cache(path)) as connection, _naming(path):
        rows = connection.execute(
            "SELECT model, COUNT(*), SUM(LENGTH(completion)), MIN(at), MAX(at) FROM replies GROUP BY model ORDER BY 1"
        ).fetchall()
    parts = [
        CachedModel(model, count, size / 1e6, _day(oldest), _day(newest)) for model, count, size, oldest, newest in rows
    ]
    files = (path, path.with_name(f"{path.name}-wal"))
    size = sum(file.stat().st_size for file in files if file.exists())
    return Contents(str(path), sum(part.entries for part in parts), size / 1e6, parts)


def prune(path: Path, older_than_s: float) -> int:
    """Removes replies that are at least so old, all of them for 0; returns how many."""
    if not path.is_file():
        return 0
    with closing(open_cache(path)) as connection, _naming(path):
        with connection:
            if older_than_s:
                removed = connection.execute(
                    "DELETE FROM replies WHERE at <= ?", (time.time() - older_than_s,)
                ).rowcount
            else:
                removed = connection.execute("DELETE FROM replies WHERE TRUE").rowcount
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return removed


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise RagbedError(f"the response cache {path} cannot be used: {error}.") from error


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment):%Y-%m-%d}"

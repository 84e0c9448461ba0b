"""Store pages by URL, and search results and extracted texts by their request, in a single file."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ragbed.errors import RagbedError

_TABLES = (
    "CREATE TABLE IF NOT EXISTS pages (url TEXT PRIMARY KEY, final_url TEXT NOT NULL, content_type TEXT NOT NULL,"
    " at REAL NOT NULL, body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
)
_FAST = 1  # zlib compression level; level 1 reduces pages to a fifth of their size at 100 MB/s


@dataclass(frozen=True)
class CachedPage:
    """A document as it was received.

    Attributes:
        url: Requested URL.
        final_url: URL after redirects.
        content_type: Content-Type header with the charset; empty if there was none.
        body: The document.
        at: Time when the document was received, in seconds since 1970.
    """

    url: str
    final_url: str
    content_type: str
    body: bytes
    at: float = 0.0


class PageCache:
    """An open cache file, which several processes may share.

    Args:
        path: Path of the file, which is created if missing; its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._naming_the_file():
            self._file = sqlite3.connect(path, isolation_level=None)
            self._file.execute("PRAGMA busy_timeout = 30000")  # set first, in case two processes start at once
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            for table in _TABLES:
                self._file.execute(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def find_page(self, url: str) -> CachedPage | None:
        """Return the page stored for a URL, or None if there is none."""
        row = self._run("SELECT final_url, content_type, body, at FROM pages WHERE url = ?", url)
        if row is None:
            return None
        final_url, content_type, body, at = row
        with self._naming_the_file():
            return CachedPage(url, final_url, content_type, zlib.decompress(body), at)

    def keep_page(self, page: CachedPage) -> None:
        """Store a page, replacing any older version."""
        self._run(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?)",
            *(page.url, page.final_url, page.content_type, page.at, zlib.compress(page.body, _FAST)),
        )

    def find_answer(self, key: str) -> bytes | None:
        """Return the bytes stored under a key, or None if there are none."""
        row = self._run("SELECT body FROM answers WHERE key = ?", key)
        return None if row is None else bytes(row[0])

    def keep_answer(self, key: str, body: bytes) -> None:
        """Store bytes under a key."""
        self._run("INSERT OR REPLACE INTO answers VALUES (?, ?)", key, body)

    def _run(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        with self._naming_the_file():
            rows: list[tuple[Any, ...]] = self._file.execute(statement, values).fetchall()
        return rows[0] if rows else None

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """Convert SQLite errors into errors that name the file."""
        try:
            yield
        except (sqlite3.Error, zlib.error) as error:
            raise RagbedError(
                f"{self._path} cannot be used to store pages: {error}. Move or delete the file."
            ) from error

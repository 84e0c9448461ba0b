"""Store pages by URL, search results by request, and the number of calls to each search service, in a single file.

A page is stored with the headers for a conditional request, so that it is transferred again only if it has changed.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ragbed.errors import RagbedError

_VERSION = 1
_TABLES = """
CREATE TABLE pages (url TEXT PRIMARY KEY, final_url TEXT NOT NULL, content_type TEXT NOT NULL, etag TEXT NOT NULL,
  modified TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (key TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (service TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""
_FAST = 1  # zlib compression level; level 1 reduces pages to a fifth of their size at 100 MB/s
_NO_LIMIT = 2**62


@dataclass(frozen=True)
class CachedPage:
    """A document as it was received.

    Attributes:
        url: Requested URL.
        final_url: URL after redirects.
        content_type: Content-Type header with the charset; empty if there was none.
        body: The document.
        etag: ETag header.
        modified: Last-Modified header.
        at: Time when the document was received or last found unchanged, in seconds since 1970.
    """

    url: str
    final_url: str
    content_type: str
    body: bytes
    etag: str = ""
    modified: str = ""
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
            self._create_tables()

    def _create_tables(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        version = self._file.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for table in _TABLES.strip().split(";\n"):
                self._file.execute(table)
            self._file.execute(f"PRAGMA user_version = {_VERSION}")
        self._file.execute("COMMIT")
        if version not in (0, _VERSION):
            raise RagbedError(f"{self._path} was written by a different version of ragbed; choose another file.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def find_page(self, url: str) -> CachedPage | None:
        """Return the page stored for a URL, or None if there is none."""
        row = self._run("SELECT final_url, content_type, body, etag, modified, at FROM pages WHERE url = ?", url)
        if row is None:
            return None
        final_url, content_type, body, etag, modified, at = row
        with self._naming_the_file():
            return CachedPage(url, final_url, content_type, zlib.decompress(body), etag, modified, at)

    def keep_page(self, page: CachedPage) -> None:
        """Store a page, replacing any older version."""
        self._run(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(page.url, page.final_url, page.content_type, page.etag, page.modified, page.at),
            zlib.compress(page.body, _FAST),
        )

    def renew_page(self, url: str, at: float) -> None:
        """Store the time at which a page was last found unchanged."""
        self._run("UPDATE pages SET at = ? WHERE url = ?", at, url)

    def find_answer(self, key: str) -> bytes | None:
        """Return the bytes stored under a key, or None if there are none."""
        row = self._run("SELECT body FROM answers WHERE key = ?", key)
        return None if row is None else bytes(row[0])

    def keep_answer(self, key: str, body: bytes) -> None:
        """Store bytes under a key."""
        self._run("INSERT OR REPLACE INTO answers VALUES (?, ?)", key, body)

    def count_call(self, service: str, most: int | None) -> bool:
        """Count a call to a service before it is made, or return False without counting if the limit is reached."""
        row = self._run(
            "INSERT INTO calls SELECT ?1, 1 WHERE ?2 >= 1 "
            "ON CONFLICT DO UPDATE SET count = count + 1 WHERE count < ?2 RETURNING count",
            service,
            _NO_LIMIT if most is None else most,
        )
        return row is not None

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

"""What came from outside, kept in one file: pages by address, search answers by what was asked, calls that were paid.

A page is kept with what a conditional request needs, so that it is brought again only when it has changed.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragbed.errors import RagbedError

_VERSION = 1
_TABLES = """
CREATE TABLE pages (url TEXT PRIMARY KEY, final_url TEXT NOT NULL, content_type TEXT NOT NULL, etag TEXT NOT NULL,
  modified TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (key TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (service TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""
_QUICK = 1
"""Of zlib's levels: pages shrink to a fifth at 100 MB/s."""


@dataclass(frozen=True)
class CachedPage:
    """A document as it came."""

    url: str
    """What was asked for."""
    final_url: str
    """Where redirects led."""
    content_type: str
    """As the server said it, charset included; empty if it said nothing."""
    body: bytes
    etag: str = ""
    modified: str = ""
    """Its `Last-Modified`, as the server spells it."""
    at: float = 0.0
    """When it came, or was last found unchanged: seconds since 1970."""

    @cached_property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body).hexdigest()


class PageCache:
    """The file, open. Several processes may share it.

    Args:
        path: Made if need be; its folder exists.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._naming():
            self._file = sqlite3.connect(path, isolation_level=None)
            self._file.execute("PRAGMA busy_timeout = 30000")  # first, or two that start together meet a locked file
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._lay_out()

    def _lay_out(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        version = self._file.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for table in _TABLES.strip().split(";\n"):
                self._file.execute(table)
            self._file.execute(f"PRAGMA user_version = {_VERSION}")
        self._file.execute("COMMIT")
        if version not in (0, _VERSION):
            raise RagbedError(f"{self._path} is of another version of ragbed; name another file.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def find_page(self, url: str) -> CachedPage | None:
        """The page that is kept under an address."""
        row = self._one("SELECT final_url, content_type, body, etag, modified, at FROM pages WHERE url = ?", url)
        if row is None:
            return None
        final_url, content_type, body, etag, modified, at = row
        with self._naming():
            return CachedPage(url, final_url, content_type, zlib.decompress(body), etag, modified, at)

    def keep_page(self, page: CachedPage) -> None:
        """Keeps a page, in place of an older one."""
        self._change(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(page.url, page.final_url, page.content_type, page.etag, page.modified, page.at),
            zlib.compress(page.body, _QUICK),
        )

    def renew_page(self, url: str, at: float) -> None:
        """The page was found unchanged."""
        self._change("UPDATE pages SET at = ? WHERE url = ?", at, url)

    def find_answer(self, key: str) -> bytes | None:
        """What is kept under a key."""
        row = self._one("SELECT body FROM answers WHERE key = ?", key)
        return None if row is None else bytes(row[0])

    def keep_answer(self, key: str, body: bytes) -> None:
        """Keeps an answer."""
        self._change("INSERT OR REPLACE INTO answers VALUES (?, ?)", key, body)

    def count_call(self, service: str, most: int | None) -> bool:
        """Counts one more call of a service before it is made; False, and nothing is counted, if that is too many."""
        limit = 2**62 if most is None else most
        row = self._one(
            "INSERT INTO calls SELECT ?1, 1 WHERE ?2 >= 1 "
            "ON CONFLICT DO UPDATE SET count = count + 1 WHERE count < ?2 RETURNING count",
            service,
            limit,
        )
        return row is not None

    def calls_of(self, service: str) -> int:
        """How many calls of a service were counted."""
        row = self._one("SELECT count FROM calls WHERE service = ?", service)
        return 0 if row is None else int(row[0])

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with self._naming():
            rows: list[tuple[Any, ...]] = self._file.execute(query, values).fetchall()
        return rows[0] if rows else None

    def _change(self, statement: str, *values: object) -> None:
        with self._naming():
            self._file.execute(statement, values)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turns what SQLite says into an error that names the file."""
        try:
            yield
        except (sqlite3.Error, zlib.error) as error:
            raise RagbedError(f"{self._path}, where pages are kept, cannot be used: {error}. Move it away.") from error

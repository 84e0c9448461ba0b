"""An index over one's own documents in one file: full text (SQLite FTS5) and, if an encoder is given, vectors.

Adding costs the same for each document however many there are. A document is known by its address: one that is
unchanged is not added again, one that has changed takes the place of the old one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

from yarl import URL

from ragbed.errors import RagbedError, UsageError
from ragbed.retrieval.terms import words_of
from ragbed.schema import Lang

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Role: TypeAlias = Literal["question", "passage"]


class Encode(Protocol):
    """Texts to vectors."""

    def __call__(self, texts: Sequence[str], role: Role, /) -> ArrayLike:
        """The vectors of texts, one row a text."""
        ...


VERSION = 2
"""Of the tables; raised when they, or the words in them, change."""
_TABLES = (
    """CREATE TABLE documents (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, host TEXT NOT NULL,
       title TEXT NOT NULL, lang TEXT NOT NULL, date TEXT, digest BLOB NOT NULL)""",
    """CREATE TABLE passages (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, text TEXT NOT NULL, vector BLOB)""",
    "CREATE INDEX passages_of ON passages (document)",
    "CREATE INDEX passages_without ON passages (id) WHERE vector IS NULL",
    # Words are made by us, so the tokenizer has only to split at spaces; the text itself is in `passages`.
    "CREATE VIRTUAL TABLE words USING fts5 (text, content='', tokenize=\"unicode61 remove_diacritics 0\")",
    "CREATE VIRTUAL TABLE counts USING fts5vocab (words, row)",
)
_BATCH = 64
"""Documents between two commits, and passages encoded at a time."""


@dataclass(frozen=True)
class IndexedPassage:
    """A document to be found."""

    url: str
    title: str
    lang: Lang
    passages: Sequence[str]
    """Its text, in stretches that are found on their own."""
    date: str | None = None


class LocalIndex:
    """The file, open.

    Args:
        path: Made if need be; its folder exists.
        encode: Texts to vectors; the same for all that was and will be added.
    """

    def __init__(self, path: Path, encode: Encode | None = None) -> None:
        self._path, self._encode = path, encode
        with self._naming():
            self.file = sqlite3.connect(path, isolation_level=None)
            self.file.execute("PRAGMA busy_timeout = 30000")
            self.file.execute("PRAGMA journal_mode = WAL")
            self.file.execute("PRAGMA synchronous = NORMAL")
            self._lay_out()

    def _lay_out(self) -> None:
        self.file.execute("BEGIN IMMEDIATE")
        version = self.file.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for table in _TABLES:
                self.file.execute(table)
            self.file.execute(f"PRAGMA user_version = {VERSION}")
        self.file.execute("COMMIT")
        if version not in (0, VERSION):
            raise RagbedError(f"{self._path} is of another version of ragbed; name another file.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.file.close()

    def add(self, entries: Iterable[IndexedPassage]) -> int:
        """Adds documents; how many of them are new or have changed."""
        added, held = 0, list[IndexedPassage]()
        for entry in entries:
            held.append(entry)
            if len(held) >= _BATCH:
                added += self._add_batch(held)
                held = []
        return added + self._add_batch(held)

    def _add_batch(self, entries: list[IndexedPassage]) -> int:
        """All of them or none, so that a document is never half in the index."""
        with self._naming(), self._transaction():
            fresh = {entry.url: entry for entry in entries if self._is_fresh(entry)}
            vectors = self._vectors([text for entry in fresh.values() for text in entry.passages])
            for entry in fresh.values():
                self._add_one(entry, [next(vectors) for _ in entry.passages])
        return len(fresh)

    def _is_fresh(self, entry: IndexedPassage) -> bool:
        row = self.file.execute("SELECT id, digest FROM documents WHERE url = ?", (entry.url,)).fetchone()
        if row is None:
            return True
        if row[1] == _digest(entry):
            return False
        for number, text in self.file.execute("SELECT id, text FROM passages WHERE document = ?", (row[0],)).fetchall():
            # An index without its text has to be told what is taken out of it.
            self.file.execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (number, _spaced(text)))
        self.file.execute("DELETE FROM passages WHERE document = ?", (row[0],))
        self.file.execute("DELETE FROM documents WHERE id = ?", (row[0],))
        return True

    def _add_one(self, entry: IndexedPassage, vectors: list[bytes | None]) -> None:
        document = self.file.execute(
            "INSERT INTO documents (url, host, title, lang, date, digest) VALUES (?, ?, ?, ?, ?, ?)",
            (entry.url, host_of(entry.url), entry.title, entry.lang, entry.date, _digest(entry)),
        ).lastrowid
        for text, vector in zip(entry.passages, vectors, strict=True):
            number = self.file.execute(
                "INSERT INTO passages (document, text, vector) VALUES (?, ?, ?)", (document, text, vector)
            ).lastrowid
            self.file.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, _spaced(text)))

    def _vectors(self, texts: list[str]) -> Iterator[bytes | None]:
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            if self._encode is None:
                yield from [None] * len(batch)
            else:
                yield from _pack(self._encode(batch, "passage"))

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What SQLite finds."""
        with self._naming():
            return self.file.execute(query, values).fetchall()

    def encode_query(self, text: str) -> bytes | None:
        """The vector of a query as those of passages are kept, if there is an encoder."""
        if self._encode is None:
            return None
        if self.rows("SELECT 1 FROM passages WHERE vector IS NULL LIMIT 1"):
            raise UsageError(f"{self._path} was made without an encoder; make a new index, or search it without one.")
        return _pack(self._encode([text], "question"))[0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.file.execute("ROLLBACK")
            raise
        self.file.execute("COMMIT")

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turns what SQLite says into an error that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise RagbedError(
                f"{self._path}, the index, cannot be used: {error}. Move it away to make a new one."
            ) from error


def _digest(entry: IndexedPassage) -> bytes:
    parts = (entry.title, entry.lang, entry.date or "", *entry.passages)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()


def _pack(vectors: ArrayLike) -> list[bytes]:
    """Vectors brought to length one, 16 bits a number: cosines stay as they are within 0.001, in half the memory."""
    import numpy as np  # noqa: PLC0415 - takes time to load

    rows = np.asarray(vectors, np.float32)
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return [row.tobytes() for row in (rows / lengths).astype(np.float16)]


def _spaced(text: str) -> str:
    return " ".join(words_of(text))


def host_of(url: str) -> str:
    """The host of an address; empty if it has none, as a file has."""
    try:
        return URL(url).host or ""
    except ValueError:
        return ""

"""Index local documents in a single SQLite file by full text (FTS5) and, if there is an encoder, by vectors.

The time to add a document does not depend on the number of documents. A document is identified by its URL and is added
only once, so that a killed command can be repeated.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
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
    """A function that encodes texts as vectors."""

    def __call__(self, texts: Sequence[str], role: Role, /) -> ArrayLike:
        """Return the vectors for texts, one row per text."""


# Version of the tables; increase it whenever the tables or the rules for splitting texts into words change.
VERSION = 3
_TABLES = (
    """CREATE TABLE documents (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
       lang TEXT NOT NULL, date TEXT)""",
    """CREATE TABLE passages (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, text TEXT NOT NULL, vector BLOB)""",
    "CREATE INDEX passages_without ON passages (id) WHERE vector IS NULL",
    # We split texts into words ourselves, so FTS5 only needs to split at spaces. The original texts are in `passages`.
    "CREATE VIRTUAL TABLE words USING fts5 (text, content='', tokenize=\"unicode61 remove_diacritics 0\")",
    "CREATE VIRTUAL TABLE counts USING fts5vocab (words, row)",
)
# Number of documents per transaction and number of passages per encoder call.
_BATCH = 64


@dataclass(frozen=True)
class IndexedPassage:
    """A document to add to the index, and its passages."""

    url: str
    title: str
    lang: Lang
    passages: Sequence[str]
    date: str | None = None


class LocalIndex:
    """An open index.

    Args:
        path: The file, which is created if missing; its folder must exist.
        encode: The encoding function. The same encoder must be used every time the index is opened.
    """

    def __init__(self, path: Path, encode: Encode | None = None) -> None:
        self._path, self._encode = path, encode
        with self._reporting():
            self.file = sqlite3.connect(path, isolation_level=None)
            for pragma in ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = NORMAL"):
                self.file.execute(f"PRAGMA {pragma}")
            self._create_tables()

    def _create_tables(self) -> None:
        self.file.execute("BEGIN IMMEDIATE")
        version = self.file.execute("PRAGMA user_version").fetchone()[0]
        for statement in (*_TABLES, f"PRAGMA user_version = {VERSION}") if version == 0 else ():
            self.file.execute(statement)
        self.file.execute("COMMIT")
        if version not in (0, VERSION):
            raise RagbedError(f"{self._path} was written by a different version of ragbed. Choose another file.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.file.close()

    def add(self, entries: Iterable[IndexedPassage]) -> int:
        """Add documents, and return how many of them are new."""
        added, remaining = 0, iter(entries)
        while batch := list(islice(remaining, _BATCH)):
            added += self._add_batch(batch)
        return added

    def _add_batch(self, entries: list[IndexedPassage]) -> int:
        with self._reporting(), self._transaction():
            fresh = {
                entry.url: entry
                for entry in entries
                if not self.file.execute("SELECT 1 FROM documents WHERE url = ?", (entry.url,)).fetchone()
            }
            vectors = self._vectors([text for entry in fresh.values() for text in entry.passages])
            for entry in fresh.values():
                self._add_one(entry, [next(vectors) for _ in entry.passages])
        return len(fresh)

    def _add_one(self, entry: IndexedPassage, vectors: list[bytes | None]) -> None:
        document = self.file.execute(
            "INSERT INTO documents (url, title, lang, date) VALUES (?, ?, ?, ?)",
            (entry.url, entry.title, entry.lang, entry.date),
        ).lastrowid
        for text, vector in zip(entry.passages, vectors, strict=True):
            number = self.file.execute(
                "INSERT INTO passages (document, text, vector) VALUES (?, ?, ?)", (document, text, vector)
            ).lastrowid
            self.file.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, " ".join(words_of(text))))

    def _vectors(self, texts: list[str]) -> Iterator[bytes | None]:
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            yield from [None] * len(batch) if self._encode is None else _pack(self._encode(batch, "passage"))

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that an SQL query selects."""
        with self._reporting():
            return self.file.execute(query, values).fetchall()

    def encode_query(self, text: str) -> bytes | None:
        """Return a query's vector in the format of the stored vectors, or None if there is no encoder."""
        if self._encode is None:
            return None
        if self.rows("SELECT 1 FROM passages WHERE vector IS NULL LIMIT 1"):
            raise UsageError(
                f"{self._path} was created without an encoder. Create a new index, or search without an encoder."
            )
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
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise RagbedError(
                f"the index {self._path} cannot be used: {error}. To create a new index, move or delete the file."
            ) from error


def _pack(vectors: ArrayLike) -> list[bytes]:
    """Scale vectors to unit length and pack them as 16-bit floats.

    Compared with 32-bit floats, this halves the memory and changes cosines by less than 0.001.
    """
    import numpy as np  # noqa: PLC0415 - slow to import

    rows = np.asarray(vectors, np.float32)
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return [row.tobytes() for row in (rows / lengths).astype(np.float16)]


def host_of(url: str) -> str:
    """Return a URL's host, or an empty string if there is none, e.g. in a `file:` URL."""
    try:
        return URL(url).host or ""
    except ValueError:
        return ""

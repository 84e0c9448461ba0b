"""The words of documents: each text is read once, however many cases show it, and remembers which cases do."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable

from ragbed.schema import Case
from ragbed.ui.viewer.full_text import spaced

TABLES = """
CREATE TABLE passages (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE);
CREATE TABLE shown (passage INTEGER NOT NULL, asked INTEGER NOT NULL, PRIMARY KEY (passage, asked)) WITHOUT ROWID;
CREATE VIRTUAL TABLE documents USING fts5 (
  text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
"""
_LONGEST = 100_000
"""Characters of a document whose words are read, so that one that is a book does not fill the disk."""


def add_documents(index: sqlite3.Connection, cases: Iterable[tuple[int, Case]]) -> None:
    """Reads the documents of cases into the index, in the transaction that is open.

    Args:
        index: To write.
        cases: Each with its number in the run.
    """
    for number, case in cases:
        for document in case.documents:
            pair = (_passage(index, document.text), number)
            index.execute("INSERT INTO shown VALUES (?, ?) ON CONFLICT DO NOTHING", pair)


def _passage(index: sqlite3.Connection, text: str) -> int:
    hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
    found = index.execute("SELECT id FROM passages WHERE hash = ?", (hashed,)).fetchone()
    if found is not None:
        return int(found[0])
    number = index.execute("INSERT INTO passages (hash) VALUES (?)", (hashed,)).lastrowid
    index.execute("INSERT INTO documents (rowid, text) VALUES (?, ?)", (number, spaced(text[:_LONGEST])))
    return int(number or 0)

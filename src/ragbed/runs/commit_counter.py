"""How far a run was acknowledged, noted beside its file.

SQLite takes a damaged log for one that ends earlier, without a word, and a run would fall back to an earlier moment.
Commits are therefore counted, in the file with each commit and in the note after it: a file that has counted fewer
than its note has lost some. Nobody waits for the note to reach the disk; after a power cut it may be behind.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import IO

from ragbed.io.locations import open_regular

_NAME = "acknowledged"
_LONGEST = 32
"""Bytes of the note, and more."""


class CommitCounter:
    """Counts the commits of a session.

    Args:
        folder: Of the run.
        connection: That commits.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self._connection, self._count = connection, _stored(connection)
        self._note: IO[bytes] | None = None
        with suppress(OSError):  # a run does not fail because the note cannot be written
            self._note = _open_note(folder / _NAME)
        self.acknowledge()

    def count(self) -> None:
        """Counts the commit that comes, as a part of it."""
        self._count += 1
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('commits', ?)", (str(self._count),))

    def acknowledge(self) -> None:
        """Notes that it is on the disk."""
        if self._note is not None:
            with suppress(OSError):
                os.pwrite(self._note.fileno(), f"{self._count:020}\n".encode(), 0)

    def close(self) -> None:
        """Gives the note back."""
        if self._note is not None:
            self._note.close()


def noted(folder: Path) -> int:
    """How many commits were acknowledged, as far as is known; to be read before the file is."""
    try:
        with open_regular(folder / _NAME) as note:
            return int(note.read(_LONGEST))
    except (OSError, ValueError):
        return 0


def _open_note(path: Path) -> IO[bytes]:
    try:
        return open_regular(path, "r+b", buffering=0)
    except FileNotFoundError:
        return open_regular(path, "xb", buffering=0)


def lost(noted_before: int, connection: sqlite3.Connection) -> int:
    """How many acknowledged commits the file does not have."""
    return max(0, noted_before - _stored(connection))


def _stored(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM meta WHERE key = 'commits'").fetchone()
    told = "" if row is None else str(row[0])
    return int(told) if told.isdecimal() and len(told) <= _LONGEST else 0

"""Count a run's commits both in the run's file and in a separate counter file, to detect lost commits.

If the write-ahead log is damaged, SQLite silently ignores the rest of it, and the run falls back to an earlier state.
Each commit therefore increases a count in the run's file and, afterwards, a count in the counter file. If the count in
the run's file is lower, commits were lost. The counter file is not synced to disk, so it may be out of date after a
power failure.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import IO

from ragbed.io.locations import open_regular

_NAME = "acknowledged"
_MAX_BYTES = 32


class CommitCounter:
    """Counts the commits in a session.

    Args:
        folder: The run's folder.
        connection: The connection used for commits.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self._connection, self._count = connection, _stored(connection)
        self._note: IO[bytes] | None = None
        with suppress(OSError):  # the run works without the counter file
            self._note = _open_note(folder / _NAME)
        self.acknowledge()

    def count(self) -> None:
        """Count the next commit within its transaction."""
        self._count += 1
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('commits', ?)", (str(self._count),))

    def acknowledge(self) -> None:
        """Record in the counter file that the commit is on disk."""
        if self._note is not None:
            with suppress(OSError):
                self._note.seek(0)
                self._note.write(f"{self._count:020}\n".encode())

    def close(self) -> None:
        """Close the counter file."""
        if self._note is not None:
            self._note.close()


def noted_commits(folder: Path) -> int:
    """Return the recorded number of commits, or 0 if it is unknown. Call this before reading the run's file."""
    try:
        with open_regular(folder / _NAME) as note:
            return int(note.read(_MAX_BYTES))
    except (OSError, ValueError):
        return 0


def _open_note(path: Path) -> IO[bytes]:
    try:
        return open_regular(path, "r+b", buffering=0)
    except FileNotFoundError:
        return open_regular(path, "xb", buffering=0)


def lost_commits(noted_before: int, connection: sqlite3.Connection) -> int:
    """Return how many of the recorded commits are missing from the run's file."""
    return max(0, noted_before - _stored(connection))


def _stored(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM meta WHERE key = 'commits'").fetchone()
    value = "" if row is None else str(row[0])
    return int(value) if value.isdecimal() and len(value) <= _MAX_BYTES else 0

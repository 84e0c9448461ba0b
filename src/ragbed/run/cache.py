"""Replies kept across runs, addressed by all that was asked and of whom; never by less."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import msgspec

from ragbed.errors import RagbedError
from ragbed.schema import Completion

_CUT_SHORT = frozenset({"length", "max_tokens", "content_filter"})
_FLUSH_AT = 64
"""Replies held back between commits: a lost cache entry costs one call, so it need not be durable at once."""


def key_of(model: str, identity: str, request: bytes, repeat: int) -> str:
    """The address of a reply."""
    hasher = hashlib.sha256()
    for part in (model.encode(), identity.encode(), request, str(repeat).encode()):
        hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.hexdigest()


class Cache:
    """A file of replies that several processes may share."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path)
            # The wait for a lock comes first: switching to the write-ahead log takes one.
            for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = NORMAL"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, completion BLOB NOT NULL) WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            raise RagbedError(f"the response cache {path} cannot be used: {error}; try --no-cache.") from error
        self._held: list[tuple[str, bytes]] = []
        self._decoder = msgspec.json.Decoder(Completion)

    def find(self, key: str) -> Completion | None:
        """The reply to this very request, if it was given before."""
        row = self._connection.execute("SELECT completion FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._decoder.decode(row[0])

    def keep(self, key: str, completion: Completion) -> None:
        """Keeps a whole reply; errors, filtered and truncated ones are asked again next time."""
        if completion.outcome == "ok" and completion.finish not in _CUT_SHORT:
            self._held.append((key, msgspec.json.encode(completion)))
            if len(self._held) >= _FLUSH_AT:
                self._flush()

    def close(self) -> None:
        """Writes what is held."""
        self._flush()
        self._connection.close()

    def _flush(self) -> None:
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?)", self._held)
        self._held.clear()

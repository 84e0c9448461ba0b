"""The response cache for all runs; cache keys include the model, its identity, the complete request and the repeat.

Several processes may share one file. If the cache fails, the failure is reported once and the run continues without it.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.errors import MALFORMED_JSON, RagbedError
from ragbed.io.file_lock import lock_file
from ragbed.models.base import ENDED_EARLY
from ragbed.models.token_limit import cached_limit
from ragbed.runs.checksum import seal_of
from ragbed.schema import Completion

# Finish reasons of incomplete responses, for model objects that do not report truncation as an outcome.
_INCOMPLETE = frozenset({*ENDED_EARLY, "max_tokens", "content_filter"})
_FLUSH_AT = 64  # number of unsaved responses that triggers a commit; a lost response costs only one call
# Seconds for which a lookup without a result is trusted. Responses of other processes arrive later than that anyway,
# because each process writes many at once.
_TRUST_S = 0.1
_VERSION = 1
_FIX = "Set RAGBED_CACHE_DIR to another folder, or use `no_cache`."
_TABLE = """CREATE TABLE replies (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, at REAL NOT NULL, seal INTEGER NOT NULL, completion BLOB NOT NULL)
  WITHOUT ROWID"""


class _Entry(NamedTuple):
    key: str
    model: str
    at: float
    seal: int
    completion: bytes


def keys_of(model: str, identity: str, request: bytes, repeat: int, limits: Sequence[int]) -> list[str]:
    """Return the cache keys for a request, first with its own token limit and then with each raised limit."""
    hasher = hashlib.sha256(_framed(model) + _framed(identity) + len(request).to_bytes(8, "big"))
    hasher.update(request)
    hasher.update(_framed(str(repeat)))
    keys = [hasher.hexdigest()]
    for limit in limits:
        raised = hasher.copy()
        raised.update(_framed(f"max_tokens={limit}"))
        keys.append(raised.hexdigest())
    return keys


@cache
def _framed(part: str) -> bytes:
    encoded = part.encode()
    return len(encoded).to_bytes(8, "big") + encoded


def key_of(model: str, identity: str, request: bytes, repeat: int, max_tokens: int | None = None) -> str:
    """Return the cache key for a request; `max_tokens` is the raised limit that replaced the original one, if any."""
    return keys_of(model, identity, request, repeat, () if max_tokens is None else (cached_limit(max_tokens),))[-1]


def is_whole(completion: Completion) -> bool:
    """Return whether to cache a response; errors and filtered or truncated responses are not cached."""
    return completion.outcome == "ok" and completion.finish not in _INCOMPLETE


class Cache:
    """A file of cached responses, used from an event loop; lookups run in the loop and writes in a thread.

    Args:
        path: The file; it and its folder are created if necessary.
        tell: Called once if the file cannot be used.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self._path, self._tell = path, tell
        self._held: dict[str, _Entry] = {}
        self._prefetched: dict[str, _Entry] = {}
        self._absent: dict[str, float] = {}  # prefetched keys without an entry, and when they were looked up
        self._thread = ThreadPoolExecutor(1, "ragbed-cache")
        self._flushing: asyncio.Future[None] | None = None
        self._connections: tuple[sqlite3.Connection, ...] = ()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        try:
            self._connections = self._reader, self._writer = open_cache(path), open_cache(path)
        except RagbedError as error:
            tell(f"{error} The run continues without the cache.")

    def find(self, *keys: str) -> tuple[Completion, str] | None:
        """Return the first cached response found under the given keys, with its key, or None if there is none."""
        prefetched = {key: self._prefetched.pop(key) for key in keys if key in self._prefetched}
        looked_up = [self._absent.pop(key, -math.inf) for key in keys]
        if (found := self._select(keys, prefetched)) or time.monotonic() - min(looked_up) < _TRUST_S:
            return found
        return self._select(keys, self._read(keys))

    def prefetch(self, keys: Sequence[str]) -> None:
        """Read the cache entries for the next calls in one query; `find` uses each entry once.

        For keys without an entry, `find` runs another query after a while, since other processes may have written one.
        """
        now, found = time.monotonic(), self._read(keys)
        self._prefetched |= found
        self._absent |= dict.fromkeys(keys, now)
        for key in found:
            del self._absent[key]

    def _select(self, keys: Sequence[str], entries: Mapping[str, _Entry]) -> tuple[Completion, str] | None:
        if not entries and self._held.keys().isdisjoint(keys):  # most requests are new
            return None
        for key in keys:
            entry = self._held.get(key) or entries.get(key)
            if entry is not None and (found := self._decode(entry)) is not None:
                return found, key
        return None

    def _read(self, keys: Sequence[str]) -> dict[str, _Entry]:
        if self._reader is None:
            return {}
        query = f"SELECT * FROM replies WHERE key IN ({','.join('?' * len(keys))})"  # noqa: S608 - placeholders only
        try:
            return {row[0]: _Entry(*row) for row in self._reader.execute(query, keys)}
        except sqlite3.Error as error:
            self._reader = None
            self._abandon(error)
            return {}

    def keep(self, key: str, model: str, completion: Completion) -> None:
        """Store a response if it is complete."""
        if self._writer is None or not is_whole(completion):
            return
        self._absent.pop(key, None)
        encoded, now = msgspec.json.encode(completion), time.time()
        self._held[key] = _Entry(key, model, now, seal_of(encoded, key, model, now), encoded)
        if len(self._held) >= _FLUSH_AT and self._flushing is None:
            self._flush()

    async def close(self) -> None:
        """Write the remaining responses and close the file."""
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
        if self._held and self._writer is not None:
            await asyncio.wait([self._flush()])
        self._thread.shutdown(wait=False)
        for connection in self._connections:
            connection.close()

    def _flush(self) -> asyncio.Future[None]:
        entries = list(self._held.values())
        loop = asyncio.get_running_loop()
        self._flushing = loop.run_in_executor(self._thread, self._write, entries)
        self._flushing.add_done_callback(lambda done: self._flushed(entries, done))
        return self._flushing

    def _write(self, entries: list[_Entry]) -> None:
        with self._connections[1] as connection:
            connection.executemany("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", entries)

    def _flushed(self, entries: list[_Entry], done: asyncio.Future[None]) -> None:
        self._flushing = None
        for entry in entries:
            self._held.pop(entry.key, None)
        error = None if done.cancelled() else done.exception()
        if error is not None:
            self._abandon(error)

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Completion]:
        return msgspec.json.Decoder(Completion)

    def _decode(self, entry: _Entry) -> Completion | None:
        """Decode an entry, or return None if it is damaged."""
        with suppress(*MALFORMED_JSON):
            if seal_of(entry.completion, entry.key, entry.model, entry.at) == entry.seal:
                return self._decoder.decode(entry.completion)
        return None

    def _abandon(self, error: BaseException) -> None:
        if self._writer is not None:
            problem = error if isinstance(error, RagbedError) else _unusable(self._path, error)
            self._tell(f"{problem} The run continues without the cache.")
            self._writer = None


def open_cache(path: Path, fix: str = _FIX) -> sqlite3.Connection:
    """Open a cache, creating it if necessary.

    Args:
        path: The file.
        fix: What the user can do if the file cannot be used.

    Raises:
        RagbedError: The file cannot be used.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Switching a database to write-ahead logging fails while another process is opening it, no matter how long the
        # timeout is.
        with lock_file(path.with_name(f"{path.name}.lock"), wait_s=math.inf):
            return _open(path)
    except (sqlite3.Error, OSError) as error:
        raise _unusable(path, error, fix) from error


def _unusable(path: Path, error: BaseException, fix: str = _FIX) -> RagbedError:
    reason = str(getattr(error, "strerror", None) or error).rstrip(".")
    return RagbedError(f"the response cache {path} cannot be used: {reason}. {fix}")


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        for pragma in ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = NORMAL"):
            connection.execute(f"PRAGMA {pragma}")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise RagbedError(f"the response cache {path} was written by a newer version of ragbed. Upgrade ragbed.")
        if version < _VERSION:
            with closing(connection.cursor()) as cursor:
                change = f"DROP TABLE IF EXISTS replies; {_TABLE}; PRAGMA user_version = {_VERSION};"
                cursor.executescript(f"BEGIN IMMEDIATE; {change} COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection

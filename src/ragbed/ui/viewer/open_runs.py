"""Keep the runs in the given folders open for reading while runs are added or deleted."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ragbed.errors import RagbedError
from ragbed.runs.database import NAME
from ragbed.runs.engines.spawning import SafeSpawnContext
from ragbed.runs.store import open_scored
from ragbed.text import storable_name
from ragbed.ui.viewer.find_runs import find_runs
from ragbed.ui.viewer.keeper import Kept, keep_tables
from ragbed.ui.viewer.run_reader import RunReader

# Minimum interval between two searches of the folders, in seconds and, for large folder trees, as a multiple of the
# search time.
_REST_S, _REST_TIMES = 1.0, 20
_PATIENCE_S = 5.0  # Maximum number of seconds for which a new run may be unreadable while its cases are being planned.
_READ_ERRORS = (RagbedError, sqlite3.Error, OSError)


class OpenRuns:
    """The readers of all open runs in the given folders, by run name; `look` updates them.

    Args:
        paths: Runs, and folders that contain runs.
        tell: Called, whenever the list changes, with all runs whose tables should be kept up to date.
    """

    def __init__(self, paths: Sequence[Path], tell: Callable[[list[Kept]], None]) -> None:
        self.readers: dict[str, RunReader] = {}
        self._paths, self._tell = paths, tell
        self._kept: dict[str, Kept] = {}
        self._trouble: dict[str, tuple[float, str]] = {}
        self._look_at = 0.0

    @property
    def problems(self) -> dict[str, str]:
        """Return the reasons why runs cannot be shown, by run name."""
        latest = time.monotonic() - _PATIENCE_S
        return {name: problem for name, (since, problem) in self._trouble.items() if since < latest}

    def fill(self) -> None:
        """Open all runs, or raise the error for the first one that cannot be read."""
        for name, run in find_runs(self._paths).items():
            self._open(name, run)
        self._tell(list(self._kept.values()))

    def look(self) -> None:
        """Open new runs and close deleted ones, unless the folders were searched very recently."""
        started = time.monotonic()
        if started < self._look_at:
            return
        before = dict(self._kept)
        found = find_runs(self._paths, {name: kept.run for name, kept in self._kept.items()})
        self._forget([name for name in before if name not in found or _file(found[name]) != before[name].file])
        self._trouble = {name: problem for name, problem in self._trouble.items() if name in found}
        self._close_damaged()
        for name, run in found.items():
            if name not in self.readers:
                self._try(name, run)
        if self._kept != before:
            self._tell(list(self._kept.values()))
        now = time.monotonic()
        self._look_at = now + max(_REST_S, _REST_TIMES * (now - started))

    def close(self) -> None:
        """Close all runs."""
        self._forget(list(self.readers))

    def _try(self, name: str, run: Path) -> None:
        try:
            self._open(name, run)
        except _READ_ERRORS as error:
            since, _ = self._trouble.get(name, (time.monotonic(), ""))
            self._trouble[name] = (since, storable_name(str(error)))
        else:
            self._trouble.pop(name, None)

    def _close_damaged(self) -> None:
        """Close runs that were damaged while they were open, so that all other runs can still be shown."""
        for name, reader in list(self.readers.items()):
            try:
                reader.check()
            except _READ_ERRORS as error:
                self._trouble[name] = (-math.inf, storable_name(str(error)))
                self._forget([name])

    def _open(self, name: str, run: Path) -> None:
        """Open a run if its cases are planned; otherwise, leave it for a later attempt."""
        file = _file(run)
        with open_scored(run) as store:
            if not store.is_planned():
                return
        reader = RunReader(name, run)
        try:
            reader.check()
        except BaseException:
            reader.close()
            raise
        self.readers[name] = reader
        self._kept[name] = Kept(run, reader.table.place, file)

    def _forget(self, names: Sequence[str]) -> None:
        for name in names:
            self.readers.pop(name).close()
            del self._kept[name]


@contextmanager
def open_runs(paths: Sequence[Path]) -> Iterator[OpenRuns]:
    """Open the runs in the given folders, with a process that keeps their tables up to date."""
    spawn = SafeSpawnContext()
    inbox, outbox = spawn.Pipe(duplex=False)
    child = spawn.Process(target=keep_tables, args=(inbox, os.getpid()), daemon=True)
    opened = OpenRuns(paths, outbox.send)
    child.start()
    try:
        opened.fill()  # Errors are raised here, before a page is opened.
        yield opened
    finally:
        child.terminate()
        child.join()
        opened.close()


def _file(run: Path) -> tuple[int, int]:
    try:
        stat = (run / NAME).stat()
    except OSError:  # The run has been deleted since the search.
        return (0, 0)
    return stat.st_dev, stat.st_ino

"""Keep the runs in the given folders open for reading while runs are added or deleted, and their tables up to date."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from ragbed.errors import RagbedError
from ragbed.runs.database import NAME
from ragbed.runs.engines.spawning import SafeSpawnContext
from ragbed.runs.store import open_scored
from ragbed.text import storable_name
from ragbed.ui.viewer.find_runs import find_runs
from ragbed.ui.viewer.run_reader import RunReader
from ragbed.ui.viewer.search_index import SearchIndex

_LOOK_EVERY_S = 0.5
_AGAIN_AFTER_S = 5.0  # seconds before retrying a run that could not be read


class Kept(NamedTuple):
    """A run, the folder of its table, and the run's device and inode, which change if the run is recreated."""

    run: Path
    place: Path
    file: tuple[int, int]


def keep_tables(inbox: Connection, parent: int) -> None:
    """Keep the tables of runs up to date until the parent process exits.

    Args:
        inbox: Receives the list of runs whenever it changes.
        parent: Process that serves the pages.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which terminates this process.
    if hasattr(os, "nice"):  # not available on Windows
        os.nice(5)  # Lower this process's priority, so that pages are served first.
    wanted: list[Kept] = []
    opened: dict[Kept, SearchIndex] = {}
    resting: dict[Kept, float] = {}
    worked = False
    while os.getppid() == parent:
        try:
            if inbox.poll(0.0 if worked else _LOOK_EVERY_S):
                wanted = inbox.recv()
                for gone in opened.keys() - set(wanted):
                    opened.pop(gone).close()
        except (EOFError, BrokenPipeError):  # The parent has exited; on Windows, getppid() still returns its old ID.
            return
        worked = False
        for kept in wanted:
            if resting.get(kept, 0.0) > time.monotonic():
                continue
            try:
                if kept not in opened:
                    opened[kept] = SearchIndex(kept.run, kept.place)
                worked = opened[kept].step() or worked
            except (RagbedError, sqlite3.Error, OSError) as error:
                resting[kept] = time.monotonic() + _AGAIN_AFTER_S
                if kept in opened:
                    with suppress(sqlite3.Error):  # The error cannot be stored in a damaged table.
                        opened[kept].note_problem(storable_name(str(error)))


# Minimum interval between two searches of the folders, in seconds and, for large folder trees, as a multiple of the
# search time.
_REST_S, _REST_TIMES = 1.0, 20


class OpenRuns:
    """The readers of all open runs in the given folders, by run name; `look` updates them.

    Attributes:
        problems: The reasons why runs cannot be shown, by run name.

    Args:
        paths: Runs, and folders that contain runs.
        tell: Called, whenever the list changes, with all runs whose tables should be kept up to date.
    """

    def __init__(self, paths: Sequence[Path], tell: Callable[[list[Kept]], None]) -> None:
        self.readers: dict[str, RunReader] = {}
        self.problems: dict[str, str] = {}
        self._paths, self._tell = paths, tell
        self._kept: dict[str, Kept] = {}
        self._look_at = 0.0

    def fill(self) -> None:
        """Open all runs, or raise the error for the first one that cannot be read."""
        for name, run in find_runs(self._paths).items():
            self._open(name, run)
        self._tell(list(self._kept.values()))

    def look(self) -> None:
        """Open new runs and close deleted and damaged ones, unless the folders were searched very recently."""
        started = time.monotonic()
        if started < self._look_at:
            return
        before = dict(self._kept)
        found = find_runs(self._paths, {name: kept.run for name, kept in self._kept.items()})
        self._forget([name for name in before if name not in found or _file(found[name]) != before[name].file])
        self.problems = {}
        for name, run in found.items():
            try:
                if name in self.readers:
                    self.readers[name].check()
                else:
                    self._open(name, run)
            except (RagbedError, sqlite3.Error, OSError) as error:
                self.problems[name] = storable_name(str(error))
                self._forget([name])
        if self._kept != before:
            self._tell(list(self._kept.values()))
        now = time.monotonic()
        self._look_at = now + max(_REST_S, _REST_TIMES * (now - started))

    def close(self) -> None:
        """Close all runs."""
        self._forget(list(self.readers))

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
            if name in self.readers:
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

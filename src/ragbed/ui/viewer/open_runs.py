"""The runs in the places that a user named, open for reading, as they come and go."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ragbed.errors import RagbedError
from ragbed.runs.database import NAME
from ragbed.text import storable_name
from ragbed.ui.viewer.find_runs import find_runs
from ragbed.ui.viewer.index import index_path
from ragbed.ui.viewer.indexing import Indexer, Kept
from ragbed.ui.viewer.run_reader import RunReader

_REST_S = 1.0
"""Between two looks at the folders, and so many times what a look took, so that a large tree is no burden."""
_REST_TIMES = 20
_PATIENCE_S = 5.0
"""For which a new run may be unreadable without being called so: it is being laid out."""


class OpenRuns:
    """Keeps the open runs of some places.

    Args:
        paths: Runs, and folders of runs.
        cache_folder: For the indexes of the runs.
        tell: Told of all runs whose indexes are to be kept, whenever they change.
    """

    def __init__(self, paths: Sequence[Path], cache_folder: Path, tell: Callable[[list[Kept]], None]) -> None:
        self.books: dict[str, RunReader] = {}
        """By name; looking changes it."""
        self._paths, self._cache_folder, self._tell = paths, cache_folder, tell
        self._kept: dict[str, Kept] = {}
        self._trouble: dict[str, tuple[float, str]] = {}
        self._look_at = 0.0

    @property
    def problems(self) -> dict[str, str]:
        """Why runs that are there are not shown."""
        late = time.monotonic() - _PATIENCE_S
        return {name: problem for name, (since, problem) in self._trouble.items() if since < late}

    def fill(self) -> None:
        """Opens all runs there are; raises what is wrong with the first that cannot be."""
        for name, run in find_runs(self._paths).items():
            self._open(name, run)
        self._tell(list(self._kept.values()))

    def look(self) -> None:
        """Opens runs that have appeared and closes those that are gone; at most now and then."""
        started = time.monotonic()
        if started < self._look_at:
            return
        before = dict(self._kept)
        found = find_runs(self._paths, {name: kept.run for name, kept in self._kept.items()})
        self._forget([name for name in before if name not in found or _file(found[name]) != before[name].file])
        self._trouble = {name: told for name, told in self._trouble.items() if name in found}
        self._close_damaged()
        for name, run in found.items():
            if name not in self.books:
                self._try(name, run)
        if self._kept != before:
            self._tell(list(self._kept.values()))
        now = time.monotonic()
        self._look_at = now + max(_REST_S, _REST_TIMES * (now - started))

    def close(self) -> None:
        """Closes all of them."""
        self._forget(list(self.books))

    def _try(self, name: str, run: Path) -> None:
        try:
            self._open(name, run)
        except (RagbedError, sqlite3.Error, OSError) as error:
            since, _ = self._trouble.get(name, (time.monotonic(), ""))
            self._trouble[name] = (since, storable_name(str(error)))
        else:
            self._trouble.pop(name, None)

    def _close_damaged(self) -> None:
        """Close runs that were damaged while they were open, so that the others are still shown."""
        for name, book in list(self.books.items()):
            try:
                book.check()
            except (RagbedError, sqlite3.Error, OSError) as error:
                self._trouble[name] = (-math.inf, storable_name(str(error)))
                self._forget([name])

    def _open(self, name: str, run: Path) -> None:
        """Opens a run; one that is not planned yet has nothing to show, and is tried again."""
        index, file = index_path(run, self._cache_folder), _file(run)
        indexer = Indexer(run, index)
        is_planned = indexer.is_planned
        indexer.close()
        if is_planned:
            book = RunReader(name, run, index)
            try:
                book.check()
            except BaseException:
                book.close()
                raise
            self.books[name] = book
            self._kept[name] = Kept(run, index, file)

    def _forget(self, names: Sequence[str]) -> None:
        for name in names:
            self.books.pop(name).close()
            del self._kept[name]


def _file(run: Path) -> tuple[int, int]:
    try:
        stat = (run / NAME).stat()
    except OSError:  # gone between two looks
        return (0, 0)
    return stat.st_dev, stat.st_ino

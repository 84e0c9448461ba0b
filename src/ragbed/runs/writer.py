"""Write to a run from an event loop; rows that arrive during a commit are included in the next commit.

Statements run in the loop's thread, and so do commits on a fast disk: starting a commit in another thread and waiting
for its result takes about 6 ms while the loop is busy, but the commit itself takes less than 1 ms. After a slow commit,
the next ones run in another thread, so that the loop does not wait for the disk. The statements never run there,
because both threads would compete for the interpreter at every row, which was 1.6 times slower.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from ragbed.errors import RagbedError
from ragbed.runs.commit_counter import CommitCounter
from ragbed.runs.lock import RunLock, is_same_file

_Row: TypeAlias = tuple[str, tuple[object, ...], asyncio.Future[None]]
_CHECK_EVERY_S = 0.5  # minimum number of seconds between two checks that the file still exists
_SLOW_S = 0.005  # duration of a commit above which the next commits run in another thread
# Number of these commits. Then a commit runs in the loop's thread again, where its duration can be measured.
_IN_BACKGROUND = 50


class WriteFailed(RagbedError):
    """Raised when the run's file cannot be written."""


class RunGone(WriteFailed):
    """Raised when the run's file was deleted, moved or replaced, so that rows written to it are lost."""


class PlaceCheck:
    """Detects a deleted run file, which the operating system keeps writable but discards when the process exits.

    Args:
        path: The file.
        held: The run's lock, which is renewed if its file was deleted.
    """

    def __init__(self, path: Path, held: RunLock) -> None:
        self._path, self._held = path, held
        self._file, self._next_at = path.stat(), 0.0

    def __call__(self) -> None:
        """Check the file, at most once every half second.

        Raises:
            RunGone: The file no longer exists or was replaced.
        """
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + _CHECK_EVERY_S
        if not is_same_file(self._path, self._file):
            raise RunGone(f"{self._path} was deleted, moved or replaced while it was being written.")
        self._held.renew()


class Writer:
    """Writes and commits a run's rows; each run has only one writer.

    Args:
        path: The file, used in messages.
        connection: A connection to the file.
        mark: The commit counter.
        check: A function that is called after each commit, and may raise `RunGone`.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, mark: CommitCounter, check: Callable[[], None] = lambda: None
    ) -> None:
        self._path, self._connection, self._mark, self._check = path, connection, mark, check
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Row] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._broken: WriteFailed | None = None
        self._in_background = 0  # number of commits to run in the other thread
        self._disk = ThreadPoolExecutor(1, "ragbed-commit")

    def put(self, statement: str, values: tuple[object, ...]) -> asyncio.Future[None]:
        """Write a row, and return a future that is done when this row and all earlier ones are on disk.

        If writing fails, this future and all later ones raise the error, so that no more calls are made. A row is
        written even if its future is cancelled.
        """
        durable = self._loop.create_future()
        self._waiting.append((statement, values, durable))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._begin)  # the transaction includes all rows from this iteration of the event loop
        return durable

    async def close(self) -> None:
        """Wait until all rows are written.

        Raises:
            WriteFailed: A row was not written.
        """
        await self._idle.wait()
        self._disk.shutdown(wait=False)
        self._mark.close()
        if self._broken is not None:
            raise self._broken

    def _begin(self) -> None:
        group, self._waiting = self._waiting, []
        if not group:
            self._idle.set()
            return
        problem: Exception | None = None
        # Keep writing if the run was deleted, because its open file is copied later.
        if self._broken is None or isinstance(self._broken, RunGone):
            try:
                self._execute(group)
                if self._in_background:
                    self._in_background -= 1
                    self._disk.submit(self._commit_in_background, group)
                    return
                started = perf_counter()
                self._commit()
                if perf_counter() - started > _SLOW_S:
                    self._in_background = _IN_BACKGROUND
            except Exception as error:  # callers waiting for the futures must receive every error
                problem = error
            except BaseException:  # a signal handler raised KeyboardInterrupt
                self._end(group, InterruptedError("the commit was interrupted"))
                raise
        self._end(group, problem)

    def _execute(self, group: list[_Row]) -> None:
        for statement, values, _ in group:  # in order, because a case's rows may be added and deleted in one group
            self._connection.execute(statement, values)
        self._mark.count()

    def _commit(self) -> None:
        self._connection.commit()
        self._check()

    def _commit_in_background(self, group: list[_Row]) -> None:
        """Commit in the other thread, and notify the event loop directly, which is faster than using a future."""
        problem: Exception | None = None
        try:
            self._commit()
        except Exception as error:  # callers waiting for results must receive every error
            problem = error
        self._loop.call_soon_threadsafe(self._end, group, problem)

    def _end(self, group: list[_Row], problem: Exception | None) -> None:
        if problem is not None:
            self._give_up(problem)
        elif self._broken is None:
            self._mark.acknowledge()
        for _, _, durable in group:
            if durable.done():
                continue
            if self._broken is None:
                durable.set_result(None)
            else:
                durable.set_exception(self._broken)
                durable.exception()  # mark the exception as retrieved, because a cancelled task does not retrieve it
        self._begin()

    def _give_up(self, problem: Exception) -> None:
        if isinstance(problem, RunGone):
            self._broken = problem
            return
        self._broken = self._broken or WriteFailed(
            f"{self._path} cannot be written: {problem}. No more requests are sent; fix the problem and rerun "
            "the command to resume."
        )
        with suppress(sqlite3.Error):  # if the rollback fails, SQLite rolls back when the file is next opened
            self._connection.rollback()

"""Writes a run from an event loop: rows that arrive while a commit is on its way to the disk go into the next.

Rows are handed to SQLite in the loop's own thread, and only the commit, which waits for the disk, goes to another:
a thread that executed statements would fight the loop for the interpreter at every row (measured: 1.6 times the time).
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

from ragbed.errors import RagbedError
from ragbed.runs.commit_counter import CommitCounter
from ragbed.runs.lock import Held, is_same_file

_Row: TypeAlias = tuple[str, tuple[object, ...], asyncio.Future[None]]


_CHECK_EVERY_S = 0.5
"""Between two looks whether the file is still in its place."""


class WriteFailed(RagbedError):
    """The disk does not take what must be kept."""


class RunGone(WriteFailed):
    """The file was deleted, moved or replaced; what is written to it can no longer be found under its name."""


class PlaceCheck:
    """Notices a deleted run: the system takes what is written to the file, and drops it when the process ends.

    Args:
        path: The file.
        held: The lock beside it, which is locked anew if it was deleted.
    """

    def __init__(self, path: Path, held: Held) -> None:
        self._path, self._held = path, held
        self._file, self._next_at = path.stat(), 0.0

    def __call__(self) -> None:
        """Look at the disk, at most every half second.

        Raises:
            RunGone: Another file or none has the name of the run's file.
        """
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + _CHECK_EVERY_S
        if not is_same_file(self._path, self._file):
            raise RunGone(f"{self._path} was deleted, moved or replaced while it was being written.")
        self._held.renew()


class Writer:
    """The one writer of a run.

    Args:
        path: The file, for messages.
        connection: To it.
        mark: Counts the commits.
        check: Called in the other thread after each commit; raises `RunGone`.
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
        self._disk = ThreadPoolExecutor(1, "ragbed-commit")

    def put(self, statement: str, values: tuple[object, ...]) -> asyncio.Future[None]:
        """Hands in a row; the future ends when it is on the disk, with all that was handed in before it.

        If the disk fails it ends with an error, as do all later ones: nothing is asked that cannot be kept.
        A row that was handed in is written even if nobody waits for it any more.
        """
        durable = self._loop.create_future()
        self._waiting.append((statement, values, durable))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._begin)  # with all that is handed in at this turn of the loop
        return durable

    async def close(self) -> None:
        """Waits for what is on its way.

        Raises:
            WriteFailed: Something that was handed in is not on the disk.
        """
        await self._idle.wait()
        self._disk.shutdown(wait=False)
        self._mark.close()
        if self._broken is not None:
            raise self._broken

    def _begin(self) -> None:
        """Sends what waits on its way; those who come meanwhile go next."""
        group, self._waiting = self._waiting, []
        if not group:
            self._idle.set()
            return
        problem: Exception | None = None
        if self._broken is None or isinstance(self._broken, RunGone):  # the open file of a deleted run is still copied
            try:
                self._execute(group)
                self._disk.submit(self._commit, group)
            except Exception as error:  # whatever it is, those who wait must hear of it
                problem = error
            else:
                return
        self._end(group, problem)

    def _execute(self, group: list[_Row]) -> None:
        rows: dict[str, list[tuple[object, ...]]] = {}
        for statement, values, _ in group:
            rows.setdefault(statement, []).append(values)
        for statement, several in rows.items():
            self._connection.executemany(statement, several)
        self._mark.count()

    def _commit(self, group: list[_Row]) -> None:
        """In the other thread; the loop hears of it at its next turn, without the detours of a future."""
        problem: Exception | None = None
        try:
            self._connection.commit()
            self._check()
        except Exception as error:  # likewise
            problem = error
        self._loop.call_soon_threadsafe(self._end, group, problem)

    def _end(self, group: list[_Row], problem: Exception | None) -> None:
        if problem is not None:
            self._give_up(problem)
        elif self._broken is None:
            self._mark.acknowledge()
        for _, _, durable in group:
            if not durable.done():
                _settle(durable, self._broken)
        self._begin()

    def _give_up(self, problem: Exception) -> None:
        """Undo what was begun, so that the file is as after the last commit."""
        if isinstance(problem, RunGone):
            self._broken = problem
            return
        self._broken = self._broken or WriteFailed(
            f"{self._path} cannot be written: {problem}. No more requests are sent; fix that and rerun to resume."
        )
        try:
            self._connection.rollback()
        except sqlite3.Error:
            return  # the next process that opens the file undoes it


def _settle(durable: asyncio.Future[None], broken: WriteFailed | None) -> None:
    if broken is None:
        durable.set_result(None)
    else:
        durable.set_exception(broken)
        durable.exception()  # marked as seen: who was cancelled meanwhile does not look

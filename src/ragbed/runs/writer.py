"""Write to a run from an event loop; rows that arrive in the same iteration of the loop share a commit.

Commits run in the loop's thread. All calls wait for their rows to be on disk anyway, and handing a commit to another
thread takes about 6 ms while the loop is busy, but the commit itself takes less than 1 ms on a fast disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from ragbed.errors import RagbedError

_Row: TypeAlias = tuple[str, tuple[object, ...], asyncio.Future[None]]


class WriteFailed(RagbedError):
    """Raised when the run's file cannot be written."""


class Writer:
    """Writes and commits a run's rows; each run has only one writer.

    Args:
        path: The file, used in messages.
        connection: A connection to the file.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Row] = []
        self._broken: WriteFailed | None = None

    def put(self, statement: str, values: tuple[object, ...]) -> asyncio.Future[None]:
        """Write a row, and return a future that is done when this row and all earlier ones are on disk.

        If writing fails, this future and all later ones raise the error, so that no more calls are made. A row is
        written even if its future is cancelled.
        """
        durable = self._loop.create_future()
        if not self._waiting:
            self._loop.call_soon(self._write)
        self._waiting.append((statement, values, durable))
        return durable

    async def close(self) -> None:
        """Write the remaining rows.

        Raises:
            WriteFailed: A row was not written.
        """
        self._write()
        if self._broken is not None:
            raise self._broken

    def _write(self) -> None:
        group, self._waiting = self._waiting, []
        try:
            if group and self._broken is None:
                for statement, values, _ in group:  # in order, because rows may be added and deleted in one group
                    self._connection.execute(statement, values)
                self._connection.commit()
        except Exception as error:  # callers waiting for the futures must receive every error
            self._give_up(error)
        except BaseException:  # a signal handler raised KeyboardInterrupt
            self._give_up(InterruptedError("the commit was interrupted"))
            raise
        finally:
            for _, _, durable in group:
                if durable.done():
                    continue
                if self._broken is None:
                    durable.set_result(None)
                else:
                    durable.set_exception(self._broken)
                    durable.exception()  # mark as retrieved, because a cancelled task does not retrieve it

    def _give_up(self, problem: Exception) -> None:
        self._broken = self._broken or WriteFailed(
            f"{self._path} cannot be written: {problem}. No more requests are sent; fix the problem and rerun "
            "the command to resume."
        )
        with suppress(sqlite3.Error):  # if the rollback fails, SQLite rolls back when the file is next opened
            self._connection.rollback()

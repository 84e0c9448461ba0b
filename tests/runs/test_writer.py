"""The writer groups rows, settles all futures, and writes all submitted rows."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from ragbed.runs.writer import WriteFailed, Writer

_PUT = "INSERT INTO rows VALUES (?)"


class Commits(sqlite3.Connection):
    """A connection that counts its commits."""

    count = 0

    def commit(self) -> None:
        self.count += 1
        super().commit()


def _open(tmp_path: Path) -> Commits:
    connection = sqlite3.connect(tmp_path / "file", check_same_thread=False, factory=Commits)
    connection.execute("CREATE TABLE IF NOT EXISTS rows (x UNIQUE)")
    assert isinstance(connection, Commits)
    return connection


def _rows(connection: sqlite3.Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT x FROM rows ORDER BY x")]


def test_different_statements_of_one_commit_run_in_order(tmp_path: Path) -> None:
    """Rows were grouped by statement, so a row that was added and then deleted in the same commit could remain."""

    async def put() -> None:
        writer = Writer(tmp_path, connection)
        delete = "DELETE FROM rows WHERE x = ?"
        await asyncio.gather(writer.put(delete, (1,)), writer.put(_PUT, (2,)), writer.put(delete, (2,)))
        await writer.close()

    connection = _open(tmp_path)
    asyncio.run(put())
    assert (_rows(connection), connection.count) == ([], 1)


def test_a_row_is_written_after_its_future_is_cancelled(tmp_path: Path) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection)
        for number in range(5):
            writer.put(_PUT, (number,)).cancel()
        await writer.close()

    connection = _open(tmp_path)
    asyncio.run(put())
    assert _rows(connection) == list(range(5))
    connection.close()


@pytest.mark.parametrize("bad", [(1,), (object(),), (1, 2)], ids=["conflict", "type", "count"])
def test_any_failure_reaches_all_futures_and_ends_writing(bad: tuple[object, ...], tmp_path: Path) -> None:
    async def put() -> None:
        writer = Writer(tmp_path / "file", connection)
        await writer.put(_PUT, (1,))
        together = [writer.put(_PUT, (2,)), writer.put(_PUT, bad), writer.put(_PUT, (3,))]
        failed = await asyncio.gather(*together, return_exceptions=True)
        later = await asyncio.gather(writer.put(_PUT, (4,)), return_exceptions=True)
        assert all(isinstance(one, WriteFailed) and str(tmp_path / "file") in str(one) for one in [*failed, *later])
        with pytest.raises(WriteFailed):
            await writer.close()

    connection = _open(tmp_path)
    asyncio.run(asyncio.wait_for(put(), 60))
    assert _rows(connection) == [1]
    connection.close()


def test_an_interrupted_commit_fails_its_futures(tmp_path: Path) -> None:
    class Interrupted(Commits):
        def commit(self) -> None:
            raise KeyboardInterrupt

    async def put() -> None:
        waiting.append(Writer(tmp_path, connection).put(_PUT, (1,)))
        await asyncio.sleep(5)

    waiting: list[asyncio.Future[None]] = []
    _open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "file", factory=Interrupted)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(put())
    assert [type(durable.exception()) for durable in waiting] == [WriteFailed]
    connection.close()

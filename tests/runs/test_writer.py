"""The writer groups rows, settles all futures, and writes all submitted rows."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from ragbed.runs import writer as writer_module
from ragbed.runs.commit_counter import CommitCounter
from ragbed.runs.writer import RunGone, WriteFailed, Writer

_PUT = "INSERT INTO rows VALUES (?)"


class Commits(sqlite3.Connection):
    """A connection that counts its commits and records their threads; each commit takes at least `seconds`."""

    count = 0
    seconds = 0.0

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.in_loop: list[bool] = []

    def commit(self) -> None:
        self.count += 1
        self.in_loop.append(threading.current_thread() is threading.main_thread())
        time.sleep(self.seconds)
        super().commit()


@pytest.fixture
def in_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run all commits in the other thread, as on a slow disk."""
    monkeypatch.setattr(writer_module, "_SLOW_S", -1.0)


@pytest.fixture(params=["fast disk", "slow disk"])
def any_disk(request: pytest.FixtureRequest) -> None:
    """Run commits in the loop's thread and in the other thread."""
    if request.param == "slow disk":
        request.getfixturevalue("in_background")


def _open(tmp_path: Path) -> Commits:
    connection = sqlite3.connect(tmp_path / "file", check_same_thread=False, factory=Commits)
    connection.execute("CREATE TABLE IF NOT EXISTS rows (x UNIQUE)")
    connection.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    assert isinstance(connection, Commits)
    return connection


def _rows(connection: sqlite3.Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT x FROM rows ORDER BY x")]


@pytest.mark.usefixtures("any_disk")
def test_rows_that_come_together_share_a_commit(tmp_path: Path) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        await asyncio.gather(*(writer.put(_PUT, (number,)) for number in range(1000)))
        await writer.close()

    connection = _open(tmp_path)
    asyncio.run(put())
    assert _rows(connection) == list(range(1000))
    assert connection.count <= 2
    connection.close()


@pytest.mark.usefixtures("any_disk")
def test_a_row_is_written_after_its_future_is_cancelled(tmp_path: Path) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        for number in range(5):
            writer.put(_PUT, (number,)).cancel()
        await writer.close()

    connection = _open(tmp_path)
    asyncio.run(put())
    assert _rows(connection) == list(range(5))
    connection.close()


@pytest.mark.usefixtures("any_disk")
@pytest.mark.parametrize("bad", [(1,), (object(),), (1, 2)], ids=["conflict", "type", "count"])
def test_any_failure_reaches_all_futures_and_ends_writing(bad: tuple[object, ...], tmp_path: Path) -> None:
    async def put() -> None:
        writer = Writer(tmp_path / "file", connection, CommitCounter(tmp_path, connection))
        await writer.put(_PUT, (1,))
        together = [writer.put(_PUT, (2,)), writer.put(_PUT, bad), writer.put(_PUT, (3,))]
        failed = await asyncio.gather(*together, return_exceptions=True)
        later = await asyncio.gather(writer.put(_PUT, (4,)), return_exceptions=True)
        assert all(isinstance(one, WriteFailed) and str(tmp_path / "file") in str(one) for one in [*failed, *later])
        with pytest.raises(WriteFailed):
            await writer.close()

    connection = _open(tmp_path)
    asyncio.run(asyncio.wait_for(put(), 5))
    assert _rows(connection) == [1]
    connection.close()


@pytest.mark.usefixtures("in_background")
def test_a_commit_that_cannot_be_started_fails_its_futures(tmp_path: Path) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        writer._disk.shutdown()  # as on a system that cannot start a thread
        with pytest.raises(WriteFailed, match="cannot be written"):
            await asyncio.wait_for(writer.put(_PUT, (1,)), 5)
        with pytest.raises(WriteFailed):
            await asyncio.wait_for(writer.close(), 5)

    connection = _open(tmp_path)
    asyncio.run(put())
    assert _rows(connection) == []
    connection.close()


@pytest.mark.usefixtures("in_background")
def test_rows_that_were_handed_in_when_the_file_was_found_gone_are_written_for_the_copy(tmp_path: Path) -> None:
    checked = threading.Event()

    def check() -> None:
        checked.wait(5)
        raise RunGone("gone")

    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection), check)
        first = writer.put(_PUT, (1,))
        await asyncio.sleep(0.05)  # its commit is running
        second = writer.put(_PUT, (2,))
        checked.set()
        for durable in (first, second):
            with pytest.raises(RunGone):
                await durable
        with pytest.raises(RunGone):
            await writer.close()

    connection = _open(tmp_path)
    asyncio.run(put())
    assert _rows(connection) == [1, 2]
    connection.close()


def test_rows_of_a_file_found_gone_on_a_fast_disk_are_written_for_the_copy(tmp_path: Path) -> None:
    def check() -> None:
        raise RunGone("gone")

    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection), check)
        for number in (1, 2):
            with pytest.raises(RunGone):
                await writer.put(_PUT, (number,))
        with pytest.raises(RunGone):
            await writer.close()

    connection = _open(tmp_path)
    asyncio.run(put())
    assert _rows(connection) == [1, 2]
    connection.close()


def test_slow_commits_move_to_another_thread_and_return_when_the_disk_is_fast_again(tmp_path: Path) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        for number, seconds in enumerate([0.0] * 10 + [0.05] * 10 + [0.0] * 60):
            connection.seconds = seconds
            await writer.put(_PUT, (number,))
        await writer.close()

    connection = _open(tmp_path)
    connection.execute("PRAGMA synchronous = OFF")  # so that this machine's disk does not matter
    asyncio.run(put())
    assert connection.in_loop[:10] == [True] * 10
    assert connection.in_loop[12:20] == [False] * 8
    assert connection.in_loop[-1]
    assert _rows(connection) == list(range(80))
    connection.close()

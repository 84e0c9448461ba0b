"""The writer groups rows, settles all futures, and writes all submitted rows."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragbed.runs import writer as writer_module
from ragbed.runs.commit_counter import CommitCounter
from ragbed.runs.writer import RunGone, WriteFailed, Writer

_PUT = "INSERT INTO rows VALUES (?)"


class Commits(sqlite3.Connection):
    """A connection that counts its commits and records their threads; by its clock, each commit takes `seconds`."""

    count = 0
    seconds = 0.0
    now = 0.0

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.in_loop: list[bool] = []

    def commit(self) -> None:
        self.count += 1
        self.in_loop.append(threading.current_thread() is threading.main_thread())
        self.now += self.seconds
        super().commit()

    def clock(self) -> float:
        return self.now


@pytest.fixture
def in_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run all commits in the other thread, as on a slow disk."""
    opened = Writer.__init__

    def open_on_slow_disk(writer: Writer, *arguments: object) -> None:
        opened(writer, *arguments)  # type: ignore[arg-type]
        writer._in_background = 1_000

    monkeypatch.setattr(Writer, "__init__", open_on_slow_disk)


@pytest.fixture(params=["fast disk", "slow disk"])
def any_disk(request: pytest.FixtureRequest) -> None:
    """Run commits in the loop's thread and in the other thread."""
    if request.param == "slow disk":
        request.getfixturevalue("in_background")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Commits]:
    connection = sqlite3.connect(tmp_path / "file", check_same_thread=False, factory=Commits)
    connection.execute("CREATE TABLE IF NOT EXISTS rows (x UNIQUE)")
    connection.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    assert isinstance(connection, Commits)
    yield connection
    connection.close()


def _rows(connection: sqlite3.Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT x FROM rows ORDER BY x")]


def test_different_statements_of_one_commit_run_in_order(tmp_path: Path, connection: Commits) -> None:
    """Rows were grouped by statement, so a row that was added and then deleted in the same commit could remain."""

    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        delete = "DELETE FROM rows WHERE x = ?"
        await asyncio.gather(writer.put(delete, (1,)), writer.put(_PUT, (2,)), writer.put(delete, (2,)))
        await writer.close()

    asyncio.run(put())
    assert (_rows(connection), connection.count) == ([], 1)


@pytest.mark.usefixtures("any_disk")
def test_rows_that_come_together_share_a_commit(tmp_path: Path, connection: Commits) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        await asyncio.gather(*(writer.put(_PUT, (number,)) for number in range(1000)))
        await writer.close()

    asyncio.run(put())
    assert _rows(connection) == list(range(1000))
    assert connection.count <= 2


@pytest.mark.usefixtures("any_disk")
def test_a_row_is_written_after_its_future_is_cancelled(tmp_path: Path, connection: Commits) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        for number in range(5):
            writer.put(_PUT, (number,)).cancel()
        await writer.close()

    asyncio.run(put())
    assert _rows(connection) == list(range(5))


@pytest.mark.usefixtures("any_disk")
@pytest.mark.parametrize("bad", [(1,), (object(),), (1, 2)], ids=["conflict", "type", "count"])
def test_any_failure_reaches_all_futures_and_ends_writing(
    bad: tuple[object, ...], tmp_path: Path, connection: Commits
) -> None:
    async def put() -> None:
        writer = Writer(tmp_path / "file", connection, CommitCounter(tmp_path, connection))
        await writer.put(_PUT, (1,))
        together = [writer.put(_PUT, (2,)), writer.put(_PUT, bad), writer.put(_PUT, (3,))]
        failed = await asyncio.gather(*together, return_exceptions=True)
        later = await asyncio.gather(writer.put(_PUT, (4,)), return_exceptions=True)
        assert all(isinstance(one, WriteFailed) and str(tmp_path / "file") in str(one) for one in [*failed, *later])
        with pytest.raises(WriteFailed):
            await writer.close()

    asyncio.run(asyncio.wait_for(put(), 5))
    assert _rows(connection) == [1]


@pytest.mark.usefixtures("in_background")
def test_a_commit_that_cannot_be_started_fails_its_futures(tmp_path: Path, connection: Commits) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        writer._disk.shutdown()  # as on a system that cannot start a thread
        with pytest.raises(WriteFailed, match="cannot be written"):
            await asyncio.wait_for(writer.put(_PUT, (1,)), 5)
        with pytest.raises(WriteFailed):
            await asyncio.wait_for(writer.close(), 5)

    asyncio.run(put())
    assert _rows(connection) == []


@pytest.mark.usefixtures("in_background")
def test_rows_that_were_handed_in_when_the_file_was_found_gone_are_written_for_the_copy(
    tmp_path: Path, connection: Commits
) -> None:
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

    asyncio.run(put())
    assert _rows(connection) == [1, 2]


def test_rows_of_a_file_found_gone_on_a_fast_disk_are_written_for_the_copy(tmp_path: Path, connection: Commits) -> None:
    def check() -> None:
        raise RunGone("gone")

    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection), check)
        for number in (1, 2):
            with pytest.raises(RunGone):
                await writer.put(_PUT, (number,))
        with pytest.raises(RunGone):
            await writer.close()

    asyncio.run(put())
    assert _rows(connection) == [1, 2]


def test_after_a_slow_commit_the_next_fifty_run_in_another_thread(
    tmp_path: Path, connection: Commits, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def put() -> None:
        writer = Writer(tmp_path, connection, CommitCounter(tmp_path, connection))
        for number in range(70):
            connection.seconds = 0.05 if number == 9 else 0.001
            await writer.put(_PUT, (number,))
        await writer.close()

    monkeypatch.setattr(writer_module, "perf_counter", connection.clock)
    asyncio.run(put())
    assert connection.in_loop == [True] * 10 + [False] * 50 + [True] * 10
    assert _rows(connection) == list(range(70))


@pytest.mark.usefixtures("connection")  # creates the tables
def test_an_interrupted_commit_fails_its_futures(tmp_path: Path) -> None:
    class Interrupted(Commits):
        def commit(self) -> None:
            raise KeyboardInterrupt

    async def put() -> None:
        waiting.append(Writer(tmp_path, connection, mark).put(_PUT, (1,)))
        await asyncio.sleep(5)

    waiting: list[asyncio.Future[None]] = []
    connection = sqlite3.connect(tmp_path / "file", factory=Interrupted)
    mark = CommitCounter(tmp_path, connection)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(put())
    assert [type(durable.exception()) for durable in waiting] == [WriteFailed]
    mark.close()
    connection.close()

"""Forged run files are refused with a message, and none keeps a reader busy."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.errors import RagbedError
from ragbed.runs.execution import run
from ragbed.runs.store import open_store
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_job

_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT "
FORGED = {
    "an endless view": f"ALTER TABLE meta RENAME TO m; CREATE VIEW meta AS {_ENDLESS} 'k' AS key, x AS value FROM n;",
    "another view": "CREATE VIEW v AS SELECT 1;",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON intents BEGIN DELETE FROM results; END;",
    "a changed trigger": """DROP TRIGGER count_case;
        CREATE TRIGGER count_case AFTER INSERT ON cases BEGIN SELECT 1; END;""",
    "a missing trigger": "DROP TRIGGER count_result;",
    "another table": "CREATE TABLE t (x);",
    "a virtual table": "CREATE VIRTUAL TABLE t USING fts5 (x);",
    "a generated column": "ALTER TABLE intents ADD COLUMN x GENERATED ALWAYS AS (zeroblob(100000000));",
    "another index": "CREATE INDEX i ON results (outcome);",
    "a missing index": "DROP INDEX one_result;",
    "a missing table": "DROP TABLE intents;",
    "a negative version": "PRAGMA user_version = -1;",
    "no version": "PRAGMA user_version = 0;",
    "another program": "PRAGMA application_id = 7;",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run."""
    folder = tmp_path_factory.mktemp("made") / "run"
    run(make_job(folder, 20, TalkingModel(agree)), ask_nobody)
    return folder


@pytest.mark.parametrize("script", FORGED.values(), ids=FORGED)
def test_a_file_with_another_schema_is_refused(made: Path, tmp_path: Path, script: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made, folder)
    with closing(sqlite3.connect(folder / "run.sqlite")) as connection:
        connection.executescript(script)
    for create in (False, True):
        with pytest.raises(RagbedError, match=r"run\.sqlite") as raised:
            open_store(folder, create=create)
        assert "Traceback" not in str(raised.value)
    done = type_command("status", str(folder))
    assert (done.code, done.err.startswith("ragbed: ")) == (1, True)


def test_a_query_that_takes_too_long_for_the_size_of_the_file_ends(made: Path) -> None:
    begun = time.monotonic()
    with open_store(made, create=False) as store:
        with pytest.raises(RagbedError, match="takes too long to read for its size"):
            list(store.read(f"{_ENDLESS} COUNT(*) FROM n"))
        assert len(list(store.results())) == 20
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("name", ["cases", "results", "one_result"])
@pytest.mark.parametrize("command", ["status", "report"])
def test_a_tree_whose_pages_lead_to_one_page_many_times_ends(
    made: Path, tmp_path: Path, name: str, command: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made, folder)
    _make_endless(folder / "run.sqlite", name)
    begun = time.process_time()
    done = type_command(command, str(folder))
    # A command that reads only an index does not see the tree.
    assert (done.code, "damaged" in done.err) in [(1, True), (0, False)], done.err
    assert time.process_time() - begun < 8


def test_a_schema_whose_pages_lead_to_one_page_many_times_ends(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made, folder)
    make_endless_schema(folder / "run.sqlite")
    begun = time.process_time()
    for create in (False, True):
        with pytest.raises(RagbedError, match="takes too long to read for its size"):
            open_store(folder, create=create)
    assert time.process_time() - begun < 8


def make_endless_schema(path: Path) -> None:
    """Repeat the row of an index without SQL, which SQLite accepts any number of times, by levels of pages."""
    content = bytearray(path.read_bytes())
    size, count = int.from_bytes(content[16:18], "big"), int.from_bytes(content[103:105], "big")
    schema = content[100 : 108 + 2 * count] + bytes(100) + content[108 + 2 * count : size]
    row = schema[:3] + b"\0\1" + schema[5:8] + schema[14:16] + schema[10:]  # the fourth is `sqlite_autoindex_cases_1`
    content += schema + row
    left = len(content) // size - 1
    for _ in range(8):
        content += _interior(size, len(content) // size, is_index=False)
    right, cell = len(content) // size, left.to_bytes(4, "big") + b"\x0f"
    begin = (size - len(cell)).to_bytes(2, "big")
    first = content[:100] + b"\5\0\0\0\1" + begin + b"\0" + right.to_bytes(4, "big") + begin
    content[:size] = first + bytes(size - len(first) - len(cell)) + cell
    content[28:32] = right.to_bytes(4, "big")
    path.write_bytes(content)


def _make_endless(path: Path, name: str) -> None:
    """Put levels of pages above the root of a table or index, each of which leads to the next one hundreds of times."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    pages = len(content) // size
    old = bytes(content[(root - 1) * size : root * size])
    is_index = old[0] in (2, 10)
    content += old  # the old root is the last page but for the levels
    child = pages + 1
    for _ in range(8):
        content += _interior(size, child, is_index=is_index)
        child = len(content) // size
    content[(root - 1) * size : root * size] = content[-size:]
    content[28:32] = (len(content) // size).to_bytes(4, "big")
    path.write_bytes(content)


def _interior(size: int, child: int, *, is_index: bool) -> bytes:
    cell = child.to_bytes(4, "big") + (b"\x04\x04\x01\x01\x01" if is_index else b"\x01")  # a key of 1, 1, 1
    count = min(200, (size - 12) // (len(cell) + 2))
    begin = size - count * len(cell)
    places = b"".join((begin + number * len(cell)).to_bytes(2, "big") for number in range(count))
    head = bytes([2 if is_index else 5, 0, 0]) + count.to_bytes(2, "big") + begin.to_bytes(2, "big") + b"\0"
    page = head + child.to_bytes(4, "big") + places
    return page + bytes(begin - len(page)) + cell * count

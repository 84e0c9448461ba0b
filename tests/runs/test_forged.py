"""Run files that somebody forged: every one is refused with a message, and none keeps a reader busy."""

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
    "a missing table": "DROP TABLE orphans;",
    "a negative version": "PRAGMA user_version = -1;",
    "no version": "PRAGMA user_version = 0;",
    "another program": "PRAGMA application_id = 7;",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run."""
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
@pytest.mark.parametrize("command", ["status", "score", "report"])
def test_a_tree_whose_pages_lead_to_one_page_many_times_ends(
    made: Path, tmp_path: Path, name: str, command: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made, folder)
    _make_endless(folder / "run.sqlite", name)
    begun = time.process_time()
    done = type_command(command, str(folder))
    # A command that finds what it needs in an index does not see the tree.
    assert (done.code, "damaged" in done.err) in [(1, True), (0, False)], done.err
    assert time.process_time() - begun < 8


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

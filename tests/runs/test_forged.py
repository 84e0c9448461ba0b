"""Forged run files are refused with a message."""

from __future__ import annotations

import shutil
import sqlite3
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

"""Invalid numbers in a run file are refused with a message by every command that reads them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.typed import type_command
from tests.interop.exports.runs import make_run


@pytest.mark.parametrize("value", ["nan", "-5", "1e3", "", str(10**30), "9" * 5_000])
@pytest.mark.parametrize("key", ["set.repeats", "session"])
def test_a_number_that_is_none_is_damage(tmp_path: Path, key: str, value: str) -> None:
    run = make_run(tmp_path / "run")
    with closing(sqlite3.connect(run / "run.sqlite")) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
    done = type_command("status", str(run))
    assert done.code == 1
    assert "is damaged; restore the file from a backup" in done.err


@pytest.mark.parametrize("words", [("report",), ("report", "-f", "html", "-o", "report.html")])
def test_tables_are_not_made_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    run = make_run(tmp_path / "run")
    with closing(sqlite3.connect(run / "run.sqlite")) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('set.repeats', 'nan')")
    done = type_command(words[0], str(run), *words[1:])
    assert done.code == 1
    assert "repeats = 'nan' is damaged" in done.err

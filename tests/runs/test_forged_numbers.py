"""Run files with numbers that ragbed never writes: one error that names the file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.runs.database import seal_of
from ragbed.runs.execution import run
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, change_file, make_job

_READING = (("status",), ("report",), ("diagnose",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run(make_job(tmp_path / "run", 3, TalkingModel(agree)), ask_nobody)
    return tmp_path / "run"


def _assert_refused(folder: Path, *commands: tuple[str, ...]) -> None:
    for words in commands:
        done = type_command(*words, str(folder))
        assert (done.code, "run.sqlite" in done.err, "Traceback" in done.err) == (1, True, False), (words, done)


@pytest.mark.parametrize("value", ["nan", "-5", "1e3", "", str(10**30), "9" * 5_000])
@pytest.mark.parametrize("key", ["set.repeats", "session"])
def test_a_number_that_is_none_is_damage(folder: Path, key: str, value: str) -> None:
    change_file(folder, f"INSERT OR REPLACE INTO meta VALUES ('{key}', '{value}')")
    _assert_refused(folder, ("status",), *[("report", "-f", form) for form in ("text", "html") if key == "set.repeats"])


@pytest.mark.parametrize("change", ["DELETE FROM ledger", "UPDATE ledger SET rows = 'many'"])
def test_an_empty_or_odd_ledger_is_refused(folder: Path, change: str) -> None:
    change_file(folder, change)
    _assert_refused(folder, *_READING)


@pytest.mark.parametrize(
    ("written", "forged"),
    [
        (b'"k":1', b'"k":-5'),
        (b'"k":1', b'"k":%d' % 2**70),
        (b'"noise":0.0', b'"noise":1e308'),
        (b'"noise_real":0.0', b'"noise_real":-1e308'),
        (b'"true_ratio":0.0', b'"true_ratio":1e308'),
    ],
)
def test_a_case_with_a_number_that_cannot_be_is_refused(folder: Path, written: bytes, forged: bytes) -> None:
    with closing(sqlite3.connect(folder / "run.sqlite")) as connection, connection:
        rows = connection.execute("SELECT id, name, feasible, line FROM cases").fetchall()
        for number, name, feasible, line in rows:
            assert written in line
            changed = line.replace(written, forged)
            seal = seal_of(changed, name, feasible)
            connection.execute("UPDATE cases SET line = ?, seal = ? WHERE id = ?", (changed, seal, number))
        connection.execute("UPDATE ledger SET seals = (SELECT SUM(seal) FROM cases) WHERE what = 'cases'")
    _assert_refused(folder, ("report",), ("diagnose",))

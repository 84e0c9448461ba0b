"""Files with JSON that is not UTF-8 or nested too deeply: refused in words by every reader, never with a traceback."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.errors import DataError
from ragbed.interop.exports.frozen import MANIFEST, read_frozen
from ragbed.runs.database import seal_of
from tests.cli.typed import type_command
from tests.interop.exports.runs import make_run

BAD = {"not UTF-8": b'"\xff"', "too deep": b"[" * 100_000}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


@pytest.fixture(params=BAD)
def bad(request: pytest.FixtureRequest) -> bytes:
    """A value, or the beginning of one."""
    return BAD[request.param]


def refused(*words: str) -> None:
    done = type_command(*words)  # an error that nobody expects would be raised here
    assert done.code == 1
    assert done.err.startswith("ragbed: ")


def test_a_case_of_a_run(run: Path, bad: bytes) -> None:
    with closing(sqlite3.connect(run / "run.sqlite")) as connection, connection:
        name, feasible, line = connection.execute("SELECT name, feasible, line FROM cases WHERE id = 1").fetchone()
        spoilt = line.replace(b'"made"', bad)
        connection.execute(
            "UPDATE cases SET line = ?, seal = ? WHERE id = 1", (spoilt, seal_of(spoilt, name, feasible))
        )
    refused("report", str(run))


def test_a_result_of_a_run(run: Path, bad: bytes) -> None:
    columns = "model, item, repeat, session, request, outcome, cached"
    with closing(sqlite3.connect(run / "run.sqlite")) as connection, connection:
        connection.execute("UPDATE ledger SET seals = seals - (SELECT seal FROM results WHERE item = 1) WHERE rows = 3")
        fields = connection.execute(f"SELECT {columns} FROM results WHERE item = 1").fetchone()
        spoilt = b'{"outcome":"ok","reply":' + bad + b"}"
        connection.execute(
            "UPDATE results SET completion = ?, seal = ? WHERE item = 1", (spoilt, seal_of(spoilt, *fields))
        )
    refused("report", str(run))


def test_labels(run: Path, tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "labels.jsonl").write_bytes(b'{"criterion":"correct","model":' + bad + b"}\n")
    refused("judge", str(run), "-m", "scripted/refuser", "--cache", "off", "--labels", str(tmp_path / "labels.jsonl"))


def test_a_diagnosis(run: Path, bad: bytes) -> None:
    (run / "diagnose").mkdir()
    (run / "diagnose" / "diagnosis.jsonl").write_bytes(b'{"case":' + bad + b"}\n")
    refused("report", str(run), "-f", "html", "-o", str(run / "report.html"))


def test_a_frozen_testbed(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(b'{"ragbed":' + bad + b"}")
    with pytest.raises(DataError, match="was not written by"):
        read_frozen(tmp_path)

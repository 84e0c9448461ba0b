from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from ragbed.errors import DataError
from ragbed.runs.store import open_store
from ragbed.ui.viewer.open_runs import Kept, OpenRuns
from tests.runs.harness import make_case
from tests.ui.viewer.runs import CASES, REPLIES, said, write_run


@pytest.fixture
def told() -> list[list[Kept]]:
    return []


@pytest.fixture
def opened(tmp_path: Path, told: list[list[Kept]]) -> Iterator[OpenRuns]:
    write_run(tmp_path / "runs" / "first", CASES, REPLIES)
    opened = OpenRuns([tmp_path / "runs"], told.append)
    opened.fill()
    with patch("ragbed.ui.viewer.open_runs._REST_S", 0.0), patch("ragbed.ui.viewer.open_runs._REST_TIMES", 0):
        yield opened
    opened.close()


def test_a_new_run_is_opened_and_indexed(opened: OpenRuns, told: list[list[Kept]], tmp_path: Path) -> None:
    assert list(opened.readers) == ["first"]
    opened.look()
    write_run(tmp_path / "runs" / "deep" / "second", CASES, REPLIES)
    opened.look()
    assert list(opened.readers) == ["first", "deep/second"]
    assert [[kept.run.name for kept in runs] for runs in told] == [["first"], ["first", "second"]]


def test_a_deleted_or_recreated_run_is_not_shown_from_the_old_file(opened: OpenRuns, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "first"
    shutil.rmtree(run)
    opened.look()
    assert opened.readers == {}
    write_run(run, CASES, REPLIES)
    opened.look()
    assert opened.readers["first"].progress().results == 9
    write_run(tmp_path / "other", [make_case(5)], {"made/new": [said("gold-5")]})
    (tmp_path / "other" / "run.sqlite").replace(run / "run.sqlite")
    opened.look()
    assert opened.readers["first"].progress().results == 1


def test_a_run_that_is_not_planned_yet_is_not_reported_as_broken(opened: OpenRuns, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "second"
    run.mkdir()
    with open_store(run, create=True) as store:
        opened.look()
        assert (list(opened.readers), opened.problems) == (["first"], {})
        store.plan({"repeats": "1"}, CASES)
    opened.look()
    assert list(opened.readers) == ["first", "second"]


def test_an_unreadable_run_is_reported_with_the_reason(opened: OpenRuns, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "broken"
    run.mkdir()
    (run / "run.sqlite").write_bytes(b"no database at all" * 100)
    opened.look()
    assert list(opened.problems) == ["broken"]
    assert "damaged" in opened.problems["broken"]
    shutil.rmtree(run)
    opened.look()
    assert opened.problems == {}


def test_errors_at_the_start_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(DataError, match="damaged"):
        OpenRuns([tmp_path], print).fill()


def test_a_run_that_is_damaged_while_it_is_open_hides_no_other_run(opened: OpenRuns, tmp_path: Path) -> None:
    second = tmp_path / "runs" / "second"
    write_run(second, CASES, REPLIES)
    opened.look()
    path = second / "run.sqlite"
    whole = path.read_bytes()
    with open(path, "r+b") as file:  # the same file, as a failing disk or a careless copy leaves it
        file.write(b"noise" * (len(whole) // 5))
    opened.look()
    assert list(opened.readers) == ["first"]
    assert "damaged" in opened.problems["second"]
    with open(path, "r+b") as file:
        file.write(whole)
    opened.look()
    assert (list(opened.readers), opened.problems) == (["first", "second"], {})

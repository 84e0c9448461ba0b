"""`ragbed review` as a user types it, and wrongly."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ragbed.data import Dataset
from ragbed.runs.lock import hold
from tests.cli.typed import type_command
from tests.served import serve
from tests.ui.review.data import accepted, open_session, rejected, world, write_data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reviewed folder: the first item accepted, the second rejected, the third open."""
    place = write_data(tmp_path / "out", en_base=world("base", 3))
    session = open_session(place)
    session.decide("en_base/en-base-0", accepted(session, "en_base/en-base-0"))
    session.decide("en_base/en-base-1", accepted(session, "en_base/en-base-1", question=rejected("unclear")))
    return place


def test_what_came_of_it_is_written_with_counts_and_a_quality_report(folder: Path, tmp_path: Path) -> None:
    done = type_command("review", str(folder), "--apply", str(tmp_path / "new"), "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)["applied"]
    assert (told["items"], told["written"], told["accepted"], told["rejected"], told["unreviewed"]) == (3, 2, 1, 1, 1)
    assert [item.id for item in Dataset("x", tmp_path / "new" / "en_base.jsonl").items()] == ["en-base-0", "en-base-2"]
    quality = json.loads((tmp_path / "new" / "quality.json").read_text("utf-8"))["quality"]
    (right, _) = quality["families"]["people"]
    assert right["name"] == "right items in review, en_base"
    assert type_command("review", str(folder), "--apply", str(tmp_path / "new")).code == 2


def test_another_rater_is_refused_once_something_is_decided(folder: Path) -> None:
    done = type_command("review", str(folder), "--rater", "bo", "--port", "0")
    assert done.code == 2
    assert "has the decisions of ada, and a review has one rater" in done.err
    assert type_command("review", str(folder), "--rater", "bo", "--apply", "new").code == 2


def test_a_file_by_itself_is_reviewed_too(folder: Path, tmp_path: Path) -> None:
    file = folder / "en_base.jsonl"
    (folder / "review").rename(folder / "en_base.review")
    done = type_command("review", str(file), "--apply", str(tmp_path / "new"), "--json")
    assert json.loads(done.out)["applied"]["rejected"] == 1


def test_decisions_on_items_that_changed_are_told(folder: Path, tmp_path: Path) -> None:
    write_data(folder, en_base=[world("base", 3)[0]])
    done = type_command("review", str(folder), "--apply", str(tmp_path / "new"))
    assert done.code == 0
    assert "decisions about items that have been removed or changed: 1." in done.err


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["data", "--target", "0"], 2, "Use a number from 0.001 to 0.999"),
        (["data", "--target", "x"], 2, "Use a number from 0.001 to 0.999"),
        (["broken"], 1, "broken/x.jsonl:1"),
    ],
)
def test_what_cannot_be_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data", en_base=world("base", 1))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.jsonl").write_text("{\n")
    done = type_command("review", *words)
    assert (done.code, problem in done.err) == (code, True), done.err


def test_two_processes_do_not_review_one_folder(folder: Path) -> None:
    with hold(folder / "review"):
        done = type_command("review", str(folder))
    assert done.code == 1
    assert "is in use by process" in done.err


def test_decisions_are_applied_while_the_page_runs(folder: Path, tmp_path: Path) -> None:
    log = folder / "review" / "decisions.jsonl"
    before = log.read_bytes()
    with hold(folder / "review"):
        done = type_command("review", str(folder), "--apply", str(tmp_path / "new"), "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["applied"]["written"] == 2
    assert log.read_bytes() == before


def test_opening_a_review_without_deciding_changes_no_decision(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "out", en_base=world("base", 3))
    log = folder / "review" / "decisions.jsonl"
    with serve("review", str(folder)) as served:
        assert served.get("/api/standing")["next"]
    assert not log.exists()
    session = open_session(folder)
    session.decide("en_base/en-base-0", accepted(session, "en_base/en-base-0"))
    before = log.read_bytes()
    with serve("review", str(folder)) as served:
        assert served.get("/api/standing")["next"]
    assert log.read_bytes() == before


def test_a_link_in_place_of_the_review_folder_is_not_followed(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "out", en_base=world("base", 1))
    (tmp_path / "elsewhere").mkdir()
    (folder / "review").symlink_to(tmp_path / "elsewhere")
    (folder / "en_base.review").symlink_to(tmp_path / "elsewhere")
    for path, link in ((folder, folder / "review"), (folder / "en_base.jsonl", folder / "en_base.review")):
        done = type_command("review", str(path), "--apply", str(tmp_path / "new"))
        assert (done.code, f"{link} is a symbolic link" in done.err) == (2, True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


_USING = {"lock": ["--port"], "decisions.jsonl": ["--port", "--apply"]}
"""Options that open each file of a review; a review is applied while another process has its lock."""


@pytest.mark.parametrize("kind", ["symbolic link", "named pipe"])
@pytest.mark.parametrize("name", _USING)
def test_links_and_pipes_in_the_review_folder_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    folder = write_data(tmp_path / "out", en_base=world("base", 1))
    (folder / "review").mkdir()
    (tmp_path / "elsewhere").write_text("mine")
    if kind == "named pipe":
        os.mkfifo(folder / "review" / name)
    else:
        (folder / "review" / name).symlink_to(tmp_path / "elsewhere")
    for option in _USING[name]:
        done = type_command("review", str(folder), option, "0" if option == "--port" else str(tmp_path / "new"))
        assert (done.code, f"{name} is a {kind}, not a regular file." in done.err) == (2, True)
    assert (tmp_path / "elsewhere").read_text("utf-8") == "mine"

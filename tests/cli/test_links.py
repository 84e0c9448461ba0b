"""Run folders that somebody else prepared: reading them follows no link, waits for no pipe and changes nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ragbed.runs.store import open_store
from ragbed.ui.viewer.annotations import read_votes
from tests.cli.typed import type_command

_RUN = ("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--cache", "off", "--out", "r")
_READING = [
    ("status", "r"),
    ("report", "r", "-f", "html", "-o", "report.html"),
    ("export", "r", "--to", "jsonl", "-o", "r.jsonl"),
    ("export", "r", "--to", "archive", "-o", "r.zip"),
    ("compare", "r", "r"),
    ("merge", "r", "-o", "merged"),
    ("report", ".", "-f", "site", "-o", "site"),
]
_WRITING_BESIDE = [("diagnose", "r"), ("judge", "r", "-m", "scripted/oracle")]
_SECRET = "# the content of another file\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert type_command(*_RUN).code == 0
    return folder / "r"


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a copy of the run and a file elsewhere that must not change."""
    shutil.copytree(made, tmp_path / "here" / "r")
    (tmp_path / "other").write_text(_SECRET)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "here"


def _link(here: Path, name: str) -> None:
    path = here / "r" / name
    path.unlink(missing_ok=True)
    path.symlink_to(here.parent / "other")


def _snapshot(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        told = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (told.st_mode, told.st_size, told.st_mtime_ns, content)
    return found


@pytest.mark.parametrize("name", ["lock", "run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal"])
@pytest.mark.parametrize("words", [("status", "r"), ("merge", "r", "-o", "merged"), _RUN], ids=lambda words: words[0])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_neither_reading_nor_resuming_uses_a_link_or_a_pipe(
    here: Path, name: str, words: tuple[str, ...], kind: str
) -> None:
    _link(here, name)
    if kind == "pipe":
        (here / "r" / name).unlink()
        os.mkfifo(here / "r" / name)
    done = type_command(*words)
    assert (here.parent / "other").read_text("utf-8") == _SECRET
    shown = "symbolic link" if kind == "link" else "named pipe"
    assert (done.code, done.err) == (2, f"ragbed: r/{name} is a {shown}, not a regular file.\n")


def test_a_link_in_place_of_the_database_is_refused(here: Path) -> None:
    (here / "r" / "run.sqlite").rename(here / "moved.sqlite")
    (here / "r" / "run.sqlite").symlink_to(here / "moved.sqlite")
    for words in (("status", "r"), _RUN):
        done = type_command(*words)
        assert (done.code, done.err) == (2, "ragbed: r/run.sqlite is a symbolic link, not a regular file.\n")


@pytest.mark.parametrize("words", _READING, ids=" ".join)
def test_reading_a_finished_run_changes_only_the_table_of_scores(here: Path, words: tuple[str, ...]) -> None:
    before = _snapshot(here / "r")
    assert before.keys() - {"scores.sqlite"} == {"run.sqlite", "lock"}
    assert type_command(*words).code == 0
    after = _snapshot(here / "r")
    assert after.keys() - {"scores.sqlite"} == {"run.sqlite", "lock"}
    assert {name: after[name] for name in ("run.sqlite", "lock")} == {
        name: before[name] for name in ("run.sqlite", "lock")
    }


@pytest.mark.parametrize("words", _WRITING_BESIDE, ids=" ".join)
def test_commands_that_add_to_a_run_leave_its_own_files_as_they_were(here: Path, words: tuple[str, ...]) -> None:
    before = _snapshot(here / "r")
    assert type_command(*words).code == 0
    after = _snapshot(here / "r")
    assert {name: after[name] for name in before} == before


def test_a_link_in_place_of_the_scores_is_refused(here: Path) -> None:
    (here / "r" / "scores.sqlite").unlink(missing_ok=True)
    _link(here, "scores.sqlite")
    done = type_command("view", "r")
    assert (done.code, done.err) == (2, "ragbed: r/scores.sqlite is a symbolic link, not a regular file.\n")
    assert (here.parent / "other").read_text("utf-8") == _SECRET


@pytest.mark.parametrize("folder", ["diagnose", "judge"])
def test_what_is_added_to_a_run_goes_through_no_link(here: Path, folder: str) -> None:
    elsewhere = here.parent / "elsewhere"
    elsewhere.mkdir()
    (here / "r" / folder).symlink_to(elsewhere)
    words = next(words for words in _WRITING_BESIDE if words[0] == folder)
    done = type_command(*words)
    assert (done.code, list(elsewhere.iterdir())) == (2, [])
    assert f"r/{folder} is a symbolic link" in done.err


@pytest.mark.parametrize("name", ["labels.jsonl", "diagnose/diagnosis.jsonl", "judge"])
def test_an_archive_gets_nothing_through_a_link(here: Path, name: str) -> None:
    """Else the owner of a prepared run could read another file in the archive that a user sends back."""
    if name == "judge":
        assert type_command("judge", "r", "-m", "scripted/oracle").code == 0
        (here / "r" / "judge").rename(here.parent / "judge")
        (here / "r" / "judge").symlink_to(here.parent / "judge")
    else:
        (here / "r" / name).parent.mkdir(exist_ok=True)
        _link(here, name)
    done = type_command("export", "r", "--to", "archive", "-o", "r.zip")
    assert (done.code, "is a symbolic link" in done.err) == (2, True)
    assert not (here / "r.zip").exists()


def test_judgements_behind_a_link_are_neither_reported_nor_shown(here: Path) -> None:
    assert type_command("judge", "r", "-m", "scripted/oracle").code == 0
    (here / "r" / "judge").rename(here.parent / "judge")
    (here / "r" / "judge").symlink_to(here.parent / "judge")
    done = type_command("report", "r")
    assert (done.code, "r/judge is a symbolic link" in done.err) == (2, True)
    with open_store(here / "r", create=False) as store:
        assert not read_votes(here / "r", next(store.results()))

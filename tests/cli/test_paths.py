"""Paths as newcomers type them: addresses, folders, what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.io import locations
from tests.cli.typed import type_command

ADDRESS = "s3://bucket/there"
_RUN = ("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a run in it."""
    monkeypatch.chdir(tmp_path)
    assert type_command(*_RUN, "--out", "r").code == 0
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        (*_RUN, "--out", ADDRESS),
        ("synth", "-o", ADDRESS),
        ("report", "r", "-f", "html", "-o", ADDRESS),
        ("import", "answers.jsonl", "--from", "rgb", "-d", "figure1", "--out", ADDRESS),
        ("report", ".", "-f", "site", "-o", ADDRESS),
        ("status", ADDRESS),
        ("compare", "r", "r", "--fail-if-worse", "3%", "--junit", ADDRESS),
    ],
)
def test_an_address_is_no_path_of_this_machine(here: Path, words: tuple[str, ...]) -> None:
    done = type_command(*words)
    assert done.code == 2
    assert "URLs are not supported. Use a local file or folder" in done.err
    assert [path.name for path in here.iterdir()] == ["r"]


def test_what_an_address_holds_of_keys_is_not_shown(here: Path) -> None:
    done = type_command("status", "s3://key:secret@bucket/run")
    assert (done.code, "secret" in done.err, [path.name for path in here.iterdir()]) == (2, False, ["r"])


def test_a_folder_of_datasets_names_its_files(here: Path) -> None:
    (here / "w").mkdir()
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        (here / "w" / name).touch()
    for words in (("run", "-d"), ("lint",)):
        done = type_command(*words, "w")
        problem = "w is a folder."
        said = f"{problem} Choose a file: w/a.jsonl, w/b.jsonl."
        assert (done.code, done.err) == (2, f"ragbed: {said}\n")


def test_data_that_may_not_be_read_is_named_by_run_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "secret.jsonl").touch()

    def refuse(*_: object, **__: object) -> None:  # root reads everything, so the system call is made to refuse
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(locations, "open", refuse, raising=False)
    done = type_command("run", "-m", "scripted/oracle", "-d", "secret.jsonl")
    said = "secret.jsonl cannot be read: Permission denied. Check the permissions of the file and its folder."
    assert (done.code, done.err) == (1, f"ragbed: {said}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("export", "figure1", "--to", "native", "-o", "new/deep/out"),
        ("export", "r", "--to", "jsonl", "-o", "new/deep/out"),
        ("report", "r", "-f", "md", "-o", "new/deep/out"),
        ("export", "figure1", "--to", "jsonl", "--num-docs", "2", "-o", "new/deep/out"),
        ("compare", "r", "r", "--fail-if-worse", "3%", "--junit", "new/deep/out"),
        ("merge", "r", "-o", "new/deep/out"),
    ],
)
def test_folders_for_what_is_written_are_made(here: Path, words: tuple[str, ...]) -> None:
    done = type_command(*words)
    assert (done.code, done.err) == (0, done.err)
    assert (here / "new" / "deep" / "out").exists()


def test_a_shard_without_questions_says_so(here: Path) -> None:
    done = type_command(*_RUN, "--shard", "97/100", "--out", "part")
    assert (done.code, "Shard 97/100 contains no questions" in done.err) == (0, True)
    assert (here / "part").is_dir()


def test_a_run_that_cannot_be_written_is_named_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = type_command(*_RUN, "--out", str(tmp_path / "file" / "run"))
    assert done.code == 1
    assert f"{tmp_path / 'file' / 'run'} cannot be written to: Not a directory" in done.err


def test_a_run_that_stops_by_itself_names_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = type_command("run", "-m", "http/127.0.0.1:1/ask", "-d", "figure1", "--num-docs", "2")
    (folder,) = Path("runs").iterdir()
    assert done.code == 1
    assert f"The run is stored in {folder}. To resume it, use --out {folder}\n" in done.err

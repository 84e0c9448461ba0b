"""Archives: a run becomes one file and is restored from it, and hostile files are refused."""

from __future__ import annotations

import json
import random
import sqlite3
import struct
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
from ragbed.analysis.judging import FOLDER as JUDGES
from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.interop.exports.archive import restore_archive
from ragbed.runs.display_names import read_names
from ragbed.runs.execution import run
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Served
from tests.cli.typed import type_command
from tests.interop.exports.runs import make_run, mixed
from tests.runs.harness import TalkingModel, ask_nobody, canonical, make_case, make_job
from tests.servers.function_model import function_model


def _export(folder: Path, path: Path) -> Path:
    done = type_command("export", str(folder), "--to", "archive", "-o", str(path))
    assert done.code == 0, done.err
    return path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The archive of a run of two models with an infeasible and a failed case."""
    cases = [make_case(0), make_case(1), make_case(2, feasible=False), make_case(3)]
    models = TalkingModel(mixed), TalkingModel(mixed, "test/other")
    run(make_job(tmp_path / "run", 4, *models, cases=lambda: iter(cases)), ask_nobody)
    return _export(tmp_path / "run", tmp_path / "run.zip")


def test_an_archive_restores_the_same_run(archive: Path, tmp_path: Path) -> None:
    done = type_command("import", str(archive), "--from", "archive", "--out", str(tmp_path / "again"))
    assert (done.code, done.err) == (0, f"6 responses to 4 cases written to {tmp_path / 'again'}.\n")
    assert canonical(tmp_path / "again") == canonical(tmp_path / "run")
    assert _export(tmp_path / "again", tmp_path / "second.zip").read_bytes() == archive.read_bytes()


def test_reports_of_a_restored_run_are_identical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("-d", "ragbed-mini-en_fact", "-d", "ragbed-mini-zh_fact", "--limit", "5", "--cache", "off")
    tables = []
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        if place == "here":
            models = ("-m", "scripted/majority", "-m", "scripted/gullible")
            assert type_command("run", *models, *words, "--out", "runs/mine").code == 0
            _export(Path("runs/mine"), tmp_path / "mine.zip")
        else:
            restore_archive(tmp_path / "mine.zip", Path("runs/mine"))
        tables.append([type_command("report", "runs/mine", "-f", form).out for form in ("md", "csv", "json")])
    assert min(map(len, tables[0])) > 500
    assert tables[0] == tables[1]


def test_names_and_served_models_are_restored(tmp_path: Path) -> None:
    def say(case: Case) -> Completion:
        return Completion(outcome="ok", reply="x", served=Served(model=f"m-{int(case.item) % 2}"))

    run(make_job(tmp_path / "run", 6, TalkingModel(say), names={"test/talking": "mine"}), ask_nobody)
    restore_archive(_export(tmp_path / "run", tmp_path / "r.zip"), tmp_path / "again")
    assert read_names([tmp_path / "again"]) == {"test/talking": "mine (m-0, m-1)"}
    with open_store(tmp_path / "again", create=False) as store:
        assert store.served() == {"test/talking": ["m-0", "m-1"]}


def test_judgements_and_labels_are_restored_with_the_run(tmp_path: Path) -> None:
    original, again = tmp_path / "run", tmp_path / "again"
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "rejection", "--limit", "3", "--cache", "off")
    type_command("run", "-m", "scripted/refuser", *words, "--out", str(original))
    judged = type_command("judge", str(original), "-m", "scripted/refuser", "--json")
    assert type_command("diagnose", str(original)).code == 0
    (original / "labels.jsonl").write_text('{"criterion": "rejected", "model": "m", "case": "c"}\n')
    (original / "notes.jsonl").write_text('{"mine": "private"}\n')
    path = _export(original, tmp_path / "r.zip")
    assert type_command("import", str(path), "--from", "archive", "--out", str(again)).code == 0
    assert not (again / "notes.jsonl").exists()
    for name in ("labels.jsonl", f"{DIAGNOSES}/diagnosis.jsonl"):
        assert (again / name).read_bytes() == (original / name).read_bytes()
    folders = [sorted(path.relative_to(one) for path in one.glob(f"{JUDGES}/*")) for one in (original, again)]
    assert folders[0] == folders[1] != []
    for folder in folders[0]:
        assert canonical(again / folder) == canonical(original / folder)
    repeated = json.loads(type_command("judge", str(again), "-m", "scripted/refuser", "--json").out)
    assert repeated | {"run": ""} == json.loads(judged.out) | {"run": ""}


def test_a_run_in_progress_is_exported_and_can_be_resumed(tmp_path: Path) -> None:
    copies: list[Path] = []

    def say(case: Case) -> Completion:
        if case.item == "2":
            copies.append(_export(tmp_path / "run", tmp_path / "r.zip"))
        return mixed(case)

    run(make_job(tmp_path / "run", 4, TalkingModel(say)), ask_nobody)
    counts = restore_archive(copies[0], tmp_path / "again")
    assert (counts["cases"], counts["results"] < 4) == (4, True)
    run(make_job(tmp_path / "again", 4, TalkingModel(mixed)), ask_nobody)
    assert canonical(tmp_path / "again") == canonical(tmp_path / "run")


def test_options_that_select_trials_are_refused(archive: Path, tmp_path: Path) -> None:
    for words in (("--model", "test/other"), ("--canonical",)):
        done = type_command("export", str(tmp_path / "run"), "--to", "archive", "-o", str(archive), *words)
        assert (done.code, "has no effect here: an archive contains the complete run" in done.err) == (2, True)


def test_a_changed_byte_is_detected_or_changes_nothing(archive: Path, tmp_path: Path) -> None:
    whole, expected = archive.read_bytes(), canonical(tmp_path / "run")
    refused = 0
    draw = random.Random(0)
    for number, place in enumerate([*draw.sample(range(len(whole)), 60), *range(len(whole) - 140, len(whole))]):
        archive.write_bytes(whole[:place] + bytes([whole[place] ^ draw.randint(1, 255)]) + whole[place + 1 :])
        folder = tmp_path / "again" / str(number)
        try:
            restore_archive(archive, folder)
        except RagbedError:
            refused += 1
            assert not folder.exists()
        else:
            assert canonical(folder) == expected
    assert refused > 100


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.999])
def test_a_truncated_file_and_other_files_are_refused(archive: Path, tmp_path: Path, kept: float) -> None:
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(kept if kept > 1 else len(whole) * kept)])
    with pytest.raises(DataError, match="is not the archive of a run; create one with"):
        restore_archive(archive, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    with pytest.raises(UsageError, match="no such file"):
        restore_archive(tmp_path / "none", tmp_path / "again")


def _forge(tmp_path: Path, *members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """Return a zip file with a run and these files."""
    folder = tmp_path / "valid"
    if not folder.exists():
        make_run(folder)
    path = tmp_path / "forged.zip"
    with zipfile.ZipFile(path, "w", compression) as target:
        target.write(folder / "run.sqlite", "run.sqlite")
        for name, content in members:
            target.writestr(name, content)
    return path


def _refused(path: Path, tmp_path: Path, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        restore_archive(path, tmp_path / "out" / "run")
    assert not list((tmp_path / "out").iterdir())
    done = type_command("run", "-m", f"replay/{path}", "-d", "figure1", "--out", str(tmp_path / "asked"))
    assert (done.code, "Traceback" in done.err) == (1, False), done.err


@pytest.mark.parametrize(
    "name",
    [
        *("../evil.jsonl", "/evil.jsonl", "..\\evil.jsonl", "run.sqlite-wal", "lock", "other.jsonl"),
        *("diagnose/../run.sqlite", "diagnose/.hidden.jsonl", "diagnose/run.sqlite", "judge/x/run.sqlite/"),
        *("judge/run.sqlite", "judge/a/b/run.sqlite", "x/run.sqlite", "judge/", "C:/run.sqlite", "RUN.sqlite"),
    ],
)
def test_files_that_do_not_belong_to_a_run_are_refused(tmp_path: Path, name: str) -> None:
    _refused(_forge(tmp_path, (name, b"{}\n")), tmp_path, "which does not belong to a run")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["run.sqlite", "labels.jsonl"])
def test_a_file_may_not_occur_twice(tmp_path: Path, name: str) -> None:
    _refused(_forge(tmp_path, (name, b"{}\n"), (name, b"{}\n")), tmp_path, f"contains {name} twice")


def test_an_archive_without_a_run_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as target:
        target.writestr("labels.jsonl", "{}\n")
    _refused(tmp_path / "a.zip", tmp_path, "it contains no run.sqlite")


@pytest.mark.parametrize("name", ["run.sqlite", "judge/x/run.sqlite"])
def test_a_database_with_another_schema_is_refused(tmp_path: Path, name: str) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as connection:
        connection.execute("CREATE TABLE notes (text)")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as target:
        target.write(tmp_path / "other.sqlite", name)
        if name != "run.sqlite":
            target.write(make_run(tmp_path / "valid") / "run.sqlite", "run.sqlite")
    with pytest.raises(DataError, match="is another program's database, not a run"):
        restore_archive(tmp_path / "a.zip", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_other_compressions_and_encryption_are_refused(tmp_path: Path) -> None:
    _refused(_forge(tmp_path, compression=zipfile.ZIP_LZMA), tmp_path, "encrypted or with another compression")
    path = _forge(tmp_path)
    content = bytearray(path.read_bytes())
    directory = content.rindex(b"PK\1\2")
    content[directory + 8] |= 1
    path.write_bytes(content)
    _refused(path, tmp_path, "encrypted or with another compression")


def test_a_size_bomb_is_refused(tmp_path: Path) -> None:
    path = _forge(tmp_path, ("labels.jsonl", b" " * (120 << 20)))
    assert path.stat().st_size < 200_000
    _refused(path, tmp_path, "decompresses to far more bytes than a run of this file size")


def test_a_large_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = _forge(tmp_path, *((f"judge/{'x' * 200}{number}/run.sqlite", b"") for number in range(5_000)))
    _refused(path, tmp_path, "is not the archive of a run")
    content = _forge(tmp_path).read_bytes()
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    path.write_bytes(content[:-22] + locator + content[-22:])
    _refused(path, tmp_path, "is not the archive of a run")


def test_an_api_key_in_a_response_is_removed(tmp_path: Path) -> None:
    with function_model(lambda request: f"It is {request.headers['Authorization']}.") as url:
        env = {"LEAK_BASE_URL": url, "LEAK_API_KEY": "sk-secret-0123456789"}
        words = ("-d", "figure1", "--num-docs", "2", "--cache", "off", "--out", str(tmp_path / "run"))
        type_command("run", "-m", "openai-api/leak/m", *words, env=env)
    with zipfile.ZipFile(_export(tmp_path / "run", tmp_path / "r.zip")) as source:
        content = source.read("run.sqlite")
    assert b"It is Bearer [key]." in content
    assert b"sk-secret" not in content

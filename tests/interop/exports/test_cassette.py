"""Cassettes: export a run as one file and restore it."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
from functools import partial
from pathlib import Path

import pytest

from ragbed.analysis.run_cells import read_report_cells
from ragbed.errors import DataError, UsageError
from ragbed.interop.exports.cassette import replay, write_trials
from ragbed.interop.exports.records_base import ExportedRun
from ragbed.io.cassette import CassetteWriter, read_cassette
from ragbed.runs.display_names import read_names
from ragbed.runs.execution import run
from ragbed.runs.lock import hold
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Served, Step
from tests.cli.typed import type_command
from tests.interop.exports.runs import make_run, mixed
from tests.runs.harness import TalkingModel, ask_nobody, canonical, make_case, make_job
from tests.servers.function_model import function_model


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A cassette of a run of two models with an infeasible and a failed case."""
    cases = [make_case(0), make_case(1), make_case(2, feasible=False), make_case(3)]
    models = TalkingModel(mixed), TalkingModel(mixed, "test/other")
    run(make_job(tmp_path / "run", 4, *models, cases=lambda: iter(cases)), ask_nobody)
    path = tmp_path / "run.cassette"
    done = type_command("export", str(tmp_path / "run"), "--to", "cassette", "-o", str(path))
    assert done.code == 0
    assert "Trials without a response: 2. They were exported with their outcome" in done.err
    assert "test/talking on made/1/" in done.err
    return path


def test_a_cassette_replays_to_the_same_run(cassette: Path, tmp_path: Path) -> None:
    done = type_command("import", str(cassette), "--from", "cassette", "--out", str(tmp_path / "again"))
    assert (done.code, done.err) == (0, f"6 responses to 4 cases written to {tmp_path / 'again'}.\n")
    assert canonical(tmp_path / "again") == canonical(tmp_path / "run")
    second = tmp_path / "second.cassette"
    type_command("export", str(tmp_path / "again"), "--to", "cassette", "-o", str(second))
    assert second.read_bytes() == cassette.read_bytes()


def test_the_tables_of_a_restored_run_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    models = ("-m", "scripted/majority", "-m", "scripted/gullible")
    words = ("-d", "ragbed-mini-en_fact", "-d", "ragbed-mini-zh_fact", "--limit", "5", "--no-cache")
    assert type_command("run", *models, *words, "--out", "runs/mine").code == 0
    type_command("export", "runs/mine", "--to", "cassette", "-o", "mine.cassette")
    monkeypatch.chdir(there)
    assert type_command("import", "../here/mine.cassette", "--from", "cassette", "--out", "runs/mine").code == 0
    for command in (("score",), *(("report", "-f", format_) for format_ in ("md", "csv", "json", "latex"))):
        tables = []
        for folder in (here, there):
            monkeypatch.chdir(folder)
            tables.append(type_command(*command, "runs/mine").out)
        assert len(tables[0]) > 500
        assert tables[0] == tables[1], command


def test_display_names_are_restored(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 2, TalkingModel(mixed), names={"test/talking": "mine"}), ask_nobody)
    assert type_command("export", str(tmp_path / "run"), "--to", "cassette", "-o", str(tmp_path / "c")).code == 0
    replay(tmp_path / "c", tmp_path / "again")
    assert read_names([tmp_path / "again"]) == {"test/talking": "mine"}


def test_judgements_and_labels_are_restored_with_the_run(tmp_path: Path) -> None:
    original, again = tmp_path / "run", tmp_path / "again"
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "rejection", "--limit", "3", "--no-cache")
    type_command("run", "-m", "scripted/refuser", *words, "--out", str(original))
    judged = type_command("judge", str(original), "-m", "scripted/refuser", "--json")
    (original / "labels.jsonl").write_text('{"criterion": "rejected", "model": "m", "case": "c"}\n')
    (original / "notes.jsonl").write_text('{"mine": "and nobody else\'s"}\n')
    type_command("export", str(original), "--to", "cassette", "-o", str(tmp_path / "c"))
    assert type_command("import", str(tmp_path / "c"), "--from", "cassette", "--out", str(again)).code == 0
    assert not (again / "notes.jsonl").exists()
    assert (again / "labels.jsonl").read_bytes() == (original / "labels.jsonl").read_bytes()
    folders = [sorted(path.relative_to(one) for path in one.glob("judge/*")) for one in (original, again)]
    assert folders[0] == folders[1] != []
    for folder in folders[0]:
        assert canonical(again / folder) == canonical(original / folder)
    told = json.loads(type_command("judge", str(again), "-m", "scripted/refuser", "--json").out)
    assert told | {"run": ""} == json.loads(judged.out) | {"run": ""}


def test_a_single_run_of_a_judge_is_named_in_the_singular(tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    make_run(tmp_path / "run" / "judge" / "test")
    type_command("export", str(tmp_path / "run"), "--to", "cassette", "-o", str(tmp_path / "c"))
    done = type_command("import", str(tmp_path / "c"), "--from", "cassette", "--out", str(tmp_path / "again"))
    assert (done.code, " and 1 run of judges or interventions written to" in done.err) == (0, True)


def test_a_run_whose_judge_is_still_running_is_refused(tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    judge = make_run(tmp_path / "run" / "judge" / "test")
    with hold(judge):
        done = type_command("export", str(tmp_path / "run"), "--to", "cassette", "-o", str(tmp_path / "c"))
    assert (done.code, (tmp_path / "c").exists()) == (1, False)
    assert (
        done.err == f"ragbed: {judge} is in use by process {os.getpid()}. "
        "Export the run when that process has finished.\n"
    )


class _Labelled(io.BytesIO):
    """A file that adds labels to the run while it is written."""

    def __init__(self, labels: Path) -> None:
        super().__init__()
        self._labels, self._left = labels, 40

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._left -= 1
        if self._left > 0:
            with open(self._labels, "a", encoding="utf-8") as labels:
                labels.write('{"criterion": "rejected", "model": "m", "case": "added"}\n')
        return super().write(data)


def test_labels_can_be_added_during_an_export(tmp_path: Path) -> None:
    folder, noise = make_run(tmp_path / "run"), random.Random(0)
    labels = folder / "labels.jsonl"
    labels.write_text("".join(json.dumps({"case": noise.randbytes(500).hex()}) + "\n" for _ in range(1_000)))
    sink = _Labelled(labels)
    with open_store(folder, create=False) as store:
        write_trials(ExportedRun(folder, store), sink)
    (tmp_path / "c").write_bytes(sink.getvalue())
    replay(tmp_path / "c", tmp_path / "again")
    told = (tmp_path / "again" / "labels.jsonl").read_bytes()
    assert labels.read_bytes().startswith(told)
    assert told.count(b"\n") >= 1_000


def test_a_changed_byte_is_detected_anywhere(cassette: Path, tmp_path: Path) -> None:
    whole = cassette.read_bytes()
    places = random.Random(0).sample(range(10, len(whole)), 100)
    for place in places:
        cassette.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises(DataError, match=r"run\.cassette"):
            replay(cassette, tmp_path / "again")
        assert not (tmp_path / "again").exists()


def test_a_changed_line_is_named(cassette: Path, tmp_path: Path) -> None:
    lines = gzip.decompress(cassette.read_bytes()).split(b"\n")
    place = next(number for number, line in enumerate(lines) if b"It is gold-3." in line and b"completion" in line)
    lines[place] = lines[place].replace(b"It is gold-3.", b"It is gold-4.")
    cassette.write_bytes(gzip.compress(b"\n".join(lines)))
    done = type_command("import", str(cassette), "--from", "cassette", "--out", str(tmp_path / "again"))
    assert (done.code, done.err) == (
        1,
        f"ragbed: {cassette}:{place + 1}: the line was modified after it was written; use an unmodified copy\n",
    )


@pytest.mark.parametrize(("kept", "problem"), [(0.5, "is truncated or damaged"), (0.999, "is truncated or damaged")])
def test_a_truncated_file_is_named(cassette: Path, tmp_path: Path, kept: float, problem: str) -> None:
    whole = cassette.read_bytes()
    cassette.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(DataError, match=problem):
        replay(cassette, tmp_path / "again")


def test_lines_without_a_checksum_and_other_files_are_refused(cassette: Path, tmp_path: Path) -> None:
    lines = gzip.decompress(cassette.read_bytes()).split(b"\n")
    cassette.write_bytes(gzip.compress(b"\n".join(lines[:-2]) + b"\n"))
    with pytest.raises(DataError, match="without a checksum"):
        replay(cassette, tmp_path / "again")
    cassette.write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="is not a cassette"):
        replay(cassette, tmp_path / "again")
    with pytest.raises(UsageError, match="no such file"):
        replay(tmp_path / "none", tmp_path / "again")


def _forge(path: Path, *parts: bytes) -> Path:
    """Return a cassette of these lines with a valid checksum."""
    with open(path, "wb") as sink:
        tape = CassetteWriter(sink)
        tape.write(b'{"cassette": 1, "ragbed": "0"}')
        for part in parts:
            tape.write(part)
        tape.close()
    return path


_EMPTY_RUN = b'{"part": "run", "folder": "%s", "settings": {}, "models": [], "cases": 0}'


@pytest.mark.parametrize(
    "place",
    [
        *("../evil.jsonl", "run.sqlite", "run.sqlite-wal", "lock", "acknowledged", "other.jsonl"),
        *("diagnose/../run.sqlite", "diagnose/.hidden.jsonl", "diagnose/run.sqlite", "judge/x/run.sqlite"),
    ],
)
def test_a_file_in_a_cassette_may_not_have_another_path(tmp_path: Path, place: str) -> None:
    part = json.dumps({"part": "lines", "path": place, "lines": 1}).encode()
    path = _forge(tmp_path / "bad.cassette", _EMPTY_RUN % b"", part, b"{}")
    with pytest.raises(DataError, match="is not allowed in a cassette"):
        replay(path, tmp_path / "out" / "run")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("folder", ["x", "judge", "judge/a/b", "diagnose", "diagnose/x.jsonl", "../x"])
def test_a_run_in_a_cassette_may_not_have_another_path(tmp_path: Path, folder: str) -> None:
    path = _forge(tmp_path / "bad.cassette", _EMPTY_RUN % b"", _EMPTY_RUN % folder.encode())
    with pytest.raises(DataError, match="is not allowed in a cassette"):
        replay(path, tmp_path / "out" / "run")


@pytest.mark.parametrize(
    "part", [_EMPTY_RUN % b"", _EMPTY_RUN % b"judge/a", b'{"part": "lines", "path": "labels.jsonl", "lines": 0}']
)
def test_a_part_may_not_occur_twice(tmp_path: Path, part: bytes) -> None:
    path = _forge(tmp_path / "bad.cassette", part, part)
    with pytest.raises(DataError, match=r"(the run|judge/a|labels\.jsonl) appears twice"):
        replay(path, tmp_path / "out" / "run")


def test_a_file_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path) -> None:
    lines = 120
    part = b'{"part": "lines", "path": "labels.jsonl", "lines": %d}' % lines
    path = _forge(
        tmp_path / "bomb.cassette", _EMPTY_RUN.replace(b"[]", b'[["m", "1"]]') % b"", part, *[b" " * (1 << 20)] * lines
    )
    assert path.stat().st_size < 200_000
    for words in (("import", str(path), "--from", "cassette", "--out", str(tmp_path / "out")),
                  ("run", "-m", f"cassette/{path}", "-d", "figure1", "--out", str(tmp_path / "out"))):  # fmt: skip
        done = type_command(*words)
        assert (done.code, "MiB, far more than a recorded run of this file size" in done.err) == (1, True), done.err
    assert not (tmp_path / "out" / "labels.jsonl").exists()


def test_equal_runs_are_equal_canonical_cassettes(tmp_path: Path) -> None:
    made = []
    for name, order in (("a", 1), ("b", -1)):
        cases = [make_case(number) for number in range(5)][::order]
        said = TalkingModel(lambda case: Completion(outcome="ok", reply="x", latency_s=hash(case.item) % 7 + 0.5))
        run(make_job(tmp_path / name, 5, said, cases=lambda cases=cases: iter(cases)), ask_nobody)
        path = tmp_path / f"{name}.cassette"
        type_command("export", str(tmp_path / name), "--to", "cassette", "-o", str(path), "--canonical")
        made.append(path.read_bytes())
    assert made[0] == made[1]


def test_an_api_key_in_a_response_is_removed(tmp_path: Path) -> None:
    with function_model(lambda request: f"It is {request.headers['Authorization']}.") as url:
        env = {"LEAK_BASE_URL": url, "LEAK_API_KEY": "sk-secret-0123456789"}
        words = ("-d", "figure1", "--num-docs", "2", "--no-cache", "--out", str(tmp_path / "run"))
        type_command("run", "-m", "openai-api/leak/m", *words, env=env)
    type_command("export", str(tmp_path / "run"), "--to", "cassette", "-o", str(tmp_path / "c"))
    lines = b"\n".join(read_cassette(tmp_path / "c"))
    assert b"It is Bearer [key]." in lines
    assert b"sk-secret" not in lines


def _say(said: Completion, _: Case) -> Completion:
    return said


def test_a_canonical_cassette_has_no_latencies_of_steps(tmp_path: Path) -> None:
    made = []
    for name, latency_s in (("a", 0.5), ("b", 0.7)):
        step = Step(messages=make_case(0).messages, reply="x", latency_s=latency_s, cached=name == "b")
        said = Completion(outcome="ok", reply="x", latency_s=latency_s, steps=(step,))
        run(make_job(tmp_path / name, 1, TalkingModel(partial(_say, said))), ask_nobody)
        path = tmp_path / f"{name}.cassette"
        type_command("export", str(tmp_path / name), "--to", "cassette", "-o", str(path), "--canonical")
        made.append(path.read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("words", [(), ("--canonical",)], ids=["complete", "canonical"])
def test_models_that_a_server_changed_are_still_told_apart(words: tuple[str, ...], tmp_path: Path) -> None:
    def say(case: Case) -> Completion:
        served = Served(model=f"m-{int(case.item) % 2}", id=case.item)
        return Completion(outcome="ok", reply=f"It is gold-{case.item}.", served=served)

    run(make_job(tmp_path / "run", 6, TalkingModel(say)), ask_nobody)
    type_command("export", str(tmp_path / "run"), "--to", "cassette", "-o", str(tmp_path / "c"), *words)
    assert type_command("import", str(tmp_path / "c"), "--from", "cassette", "-o", str(tmp_path / "again")).code == 0
    first, again = (
        {cell.key.model for cell in read_report_cells([tmp_path / name], ["robust"])} for name in ("run", "again")
    )
    assert first == again == {"test/talking (m-0)", "test/talking (m-1)"}

"""`--model NAME=MODEL`, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.runs.store import open_store
from tests.cli.typed import type_command
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

_RUN = ("--limit", "2", "--testbeds", "noise", "--noise", "0,0.8", "--cache", "off")
_GGUF = "llamacpp//data/models/{}/qwen2.5-7b-instruct-q4_k_m.gguf"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named") / "run"
    models = ("-m", "good=scripted/oracle", "-m", "scripted/last-doc")
    done = type_command("run", *models, "-d", "ragbed-mini-en_base", *_RUN, "--out", str(folder))
    assert done.code == 0, done.err
    assert "good on ragbed-mini-en_base" in done.out
    return folder


def test_a_name_is_shown_and_the_model_string_is_stored(run: Path) -> None:
    with open_store(run, create=False) as store:
        assert {name for name, _ in store.models().values()} == {"scripted/oracle", "scripted/last-doc"}
    status = type_command("status", str(run), "--json")
    assert "good" in status.err
    assert [(one["model"], one["name"]) for one in json.loads(status.out)["models"]] == [
        ("scripted/oracle", "good"),
        ("scripted/last-doc", "scripted/last-doc"),
    ]
    report = type_command("report", str(run)).out
    assert "\ngood: " in report
    assert "scripted/oracle" not in report
    cells = json.loads(type_command("report", str(run), "-f", "json").out)
    assert {cell["model"] for cell in cells} == {"scripted/oracle", "scripted/last-doc"}


@pytest.mark.parametrize("first", ["good", "scripted/oracle"])
def test_compare_takes_a_name_or_a_model_string(run: Path, first: str) -> None:
    done = type_command("compare", f"{run}:{first}", f"{run}:scripted/last-doc")
    assert done.code == 0
    assert "A: good in" in done.out


def test_a_resumed_run_keeps_the_name(run: Path) -> None:
    words = ("-m", "scripted/last-doc", "-d", "ragbed-mini-en_base", *_RUN, "--out", str(run))
    assert type_command("run", "-m", "scripted/oracle", *words).code == 0
    assert "good" in type_command("status", str(run)).out


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        (["a=scripted/oracle", "a=scripted/echo"], "unique within a run"),
        (["a=scripted/oracle", "scripted/oracle"], "appears twice under different names"),
    ],
)
def test_names_that_make_no_sense_are_refused(tmp_path: Path, models: list[str], problem: str) -> None:
    words = [word for model in models for word in ("-m", model)]
    done = type_command("run", *words, "-d", "ragbed-mini-en_base", *_RUN, "--out", str(tmp_path / "run"))
    assert (done.code, problem in done.err) == (2, True), done.err
    assert not (tmp_path / "run").exists()


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    cases = [make_case(number) for number in range(3)]
    replies = [said("wrong")] * 3
    write_run(tmp_path / "run", cases, {_GGUF.format(folder): replies for folder in ("old", "new")})
    for command in (["status"], ["report"], ["diagnose"], ["diagnose", "--show", "E11"]):
        told = type_command(*command, str(tmp_path / "run")).out
        assert "old/qwen2.5-7b-instruct-q4_k_m" in told
        assert "new/qwen2.5-7b-instruct-q4_k_m" in told
        assert "/data/models" not in told
        assert ".gguf" not in told


def test_tables_of_models_with_long_paths_fit_eighty_columns(run: Path, tmp_path: Path) -> None:
    with open_store(run, create=False) as store:
        cases = list(store.cases())
    models = [f"llamacpp//home/ana/models/gguf/qwen2.5-7b-instruct-{kind}.gguf" for kind in ("q4_k_m", "q8_0")]
    write_run(tmp_path / "run", cases, {model: [said(case.answer[0][0]) for case in cases] for model in models})
    for command in ("status", "report"):
        told = type_command(command, str(tmp_path / "run"), env={"COLUMNS": "80"}).out
        summary = [line for line in told.splitlines() if line.startswith("qwen") and ": Accuracy" in line]
        assert len(summary) == (2 if command == "report" else 0)
        titles = [line for line in told.splitlines() if " · " in line]
        tables = [line for line in told.splitlines() if line not in (*summary, *titles) and str(tmp_path) not in line]
        assert max(len(line.rstrip()) for line in tables) <= 80

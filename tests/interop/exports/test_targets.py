"""Exports of test cases to other tools, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.typed import Done, type_command


def _export(source: Path | str, to: str, output: Path, *words: str) -> Done:
    return type_command("export", str(source), "--to", to, "-o", str(output), *words)


def test_infeasible_settings_are_reported(tmp_path: Path) -> None:
    words = ("--testbeds", "noise", "--num-docs", "8", "--noise", "0,0.5", "--limit", "4", "--json")
    done = _export("ragbed-mini-en_base", "lm-eval", tmp_path / "rows", *words)
    told = json.loads(done.out)
    assert (done.code, told["cases"], told["infeasible"]) == (
        0,
        4,
        {"the case requires 8 supporting documents, but the item has only 6": 4},
    )
    assert "4 infeasible cases were not exported" in done.err


@pytest.mark.parametrize("to", ["inspect", "lm-eval", "hf"])
@pytest.mark.parametrize("testbed", ["own-rag", "search"])
def test_a_testbed_without_documents_is_not_frozen(to: str, testbed: str, tmp_path: Path) -> None:
    done = _export("ragbed-mini-en_base", to, tmp_path / "out", "--testbeds", f"noise,{testbed}", "--limit", "2")
    assert (done.code, (tmp_path / "out").exists()) == (2, False)
    assert f"{testbed} cannot be exported to {to}: its cases have no documents" in done.err


def test_cases_of_a_testbed_without_documents_are_lines(tmp_path: Path) -> None:
    words = ("--testbeds", "own-rag", "--limit", "2")
    assert _export("ragbed-mini-en_base", "jsonl", tmp_path / "out", *words).code == 0
    assert all(json.loads(line)["corpus"] for line in (tmp_path / "out").read_text("utf-8").splitlines())


def test_targets_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    done = _export("figure1", "inspect", tmp_path / "there", "--num-docs", "2")
    assert (done.code, done.err) == (2, f"ragbed: {tmp_path / 'there'} already exists. Choose a new folder.\n")
    done = _export("figure1", "lm-eval", tmp_path / "there" / "file" / "out", "--num-docs", "2")
    assert done.code == 1
    assert "cannot be written: Not a directory" in done.err
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    done = _export("figure1", "native", tmp_path / "out", "--noise", "0")
    assert (done.code, done.err) == (
        2,
        "ragbed: --noise has no effect here: --to native exports complete items, not test cases.\n",
    )
    done = type_command("export", "figure1", "ragbed-mini-en_base", "--to", "rgb", "-o", str(tmp_path / "out"))
    assert "rgb exports one dataset at a time, but 2 datasets were given" in done.err


@pytest.mark.parametrize(
    ("to", "hint"),
    [
        ("inspect", "inspect eval 'my exports/one/tasks.py@en_noise' --model"),
        ("lm-eval", "--include_path 'my exports/one' --tasks one_en_noise "),
    ],
)
def test_the_hint_contains_the_folder_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    layout = ("--testbeds", "noise", "--noise", "0.5", "--num-docs", "2")
    assert hint in _export("figure1", to, Path("my exports/one"), *layout).err

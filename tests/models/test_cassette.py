"""Cassettes as models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.typed import type_command
from tests.runner.harness import canonical

_DATA = ("-d", "ragbed-mini-zh_fact", "--no-cache")


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    recorded = tmp_path / "recorded"
    models = ("-m", "scripted/gullible", "-m", "scripted/oracle")
    assert type_command("run", *models, *_DATA, "--limit", "2", "--out", str(recorded)).code == 0
    export = ("export", str(recorded), "--to", "cassette", "-o")
    type_command(*export, str(tmp_path / "both.cassette"))
    done = type_command(*export, str(tmp_path / "one.cassette"), "--model", "scripted/gullible")
    assert "Judges' runs and labels are about all models and were left out." in done.err
    return tmp_path / "one.cassette"


def test_a_recorded_model_says_what_it_said(cassette: Path, tmp_path: Path) -> None:
    again, name = tmp_path / "again", f"cassette/{cassette}"
    assert type_command("run", "-m", name, *_DATA, "--limit", "2", "--out", str(again)).code == 0
    type_command("run", "-m", "scripted/gullible", *_DATA, "--limit", "2", "--out", str(tmp_path / "first"))
    assert canonical(again).replace(name.encode(), b"scripted/gullible") == canonical(tmp_path / "first")


def test_what_was_not_asked_is_an_error_with_a_name(cassette: Path, tmp_path: Path) -> None:
    done = type_command("run", "-m", f"cassette/{cassette}", *_DATA, "--limit", "3", "--out", str(tmp_path / "more"))
    assert done.code == 3
    status = json.loads(type_command("status", str(tmp_path / "more"), "--json").out)["models"][0]
    assert (status["ok"], status["errors"]) == (4, {"not-in-cassette": 2})


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("both.cassette", "holds the replies of scripted/gullible, scripted/oracle; record one"),
        ("none.cassette", "no such file"),
        ("recorded/run.sqlite", "is no cassette"),
    ],
)
def test_files_that_cannot_answer_are_refused(cassette: Path, name: str, problem: str) -> None:
    done = type_command("run", "-m", f"cassette/{cassette.parent / name}", *_DATA, "--out", str(cassette) + ".run")
    assert done.code in (1, 2)
    assert problem in done.err

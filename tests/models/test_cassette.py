"""Cassettes as models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.models.cassette import Recording
from ragbed.runs.execution import run
from ragbed.schema import Completion, Message, Step
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, ask_nobody, canonical, make_case, make_job

_DATA = ("-d", "ragbed-mini-zh_fact", "--no-cache")


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    recorded = tmp_path / "recorded"
    models = ("-m", "scripted/gullible", "-m", "scripted/oracle")
    assert type_command("run", *models, *_DATA, "--limit", "2", "--out", str(recorded)).code == 0
    export = ("export", str(recorded), "--to", "cassette", "-o")
    type_command(*export, str(tmp_path / "both.cassette"))
    done = type_command(*export, str(tmp_path / "one.cassette"), "--model", "scripted/gullible")
    assert "Judge runs and labels are omitted because they concern all models." in done.err
    return tmp_path / "one.cassette"


def test_a_cassette_replays_the_recorded_responses(cassette: Path, tmp_path: Path) -> None:
    again, name = tmp_path / "again", f"cassette/{cassette}"
    assert type_command("run", "-m", name, *_DATA, "--limit", "2", "--out", str(again)).code == 0
    type_command("run", "-m", "scripted/gullible", *_DATA, "--limit", "2", "--out", str(tmp_path / "first"))
    assert canonical(again).replace(name.encode(), b"scripted/gullible") == canonical(tmp_path / "first")


def test_a_prompting_strategy_is_recorded_call_by_call_and_not_used_for_the_plain_prompt(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0.4", "--limit", "4", "--no-cache")
    asked = (*words, "--strategies", "decompose,isolate,quote", "--out")
    first, again, tape = tmp_path / "first", tmp_path / "again", tmp_path / "c"
    assert type_command("run", "-m", "scripted/first-doc", *asked, str(first)).code == 0
    # By name `robust+isolate` may come before `robust`: the order of the tape is not to matter.
    type_command("export", str(first), "--to", "cassette", "-o", str(tape), "--canonical")
    name = f"cassette/{tape}"
    done = type_command("run", "-m", name, *asked, str(again))
    assert done.code == 0, done.err
    assert canonical(again).replace(name.encode(), b"scripted/first-doc") == canonical(first)


def test_a_failed_call_of_a_prompting_strategy_fails_again(tmp_path: Path) -> None:
    plain = make_case(0)
    sent = (Message(role="user", content="split"), Message(role="user", content="part 1"))
    steps = (Step(messages=sent[:1], reply="part 1"), Step(messages=sent[1:]))
    failed = Completion(outcome="error", error="timeout: no reply within 3 s", attempts=4, steps=steps)
    run(make_job(tmp_path / "run", 1, TalkingModel(lambda _: failed)), ask_nobody)
    type_command("export", str(tmp_path / "run"), "--to", "cassette", "-o", str(tmp_path / "c"))
    recording = Recording(tmp_path / "c")
    assert recording.find(sent[:1]) == Completion(outcome="ok", reply="part 1")
    assert recording.find(sent[1:]) == Completion(outcome="error", error=failed.error)
    assert str(recording.find(plain.messages).error).startswith("not-in-cassette")


def test_a_prompt_that_was_not_recorded_is_a_named_error(cassette: Path, tmp_path: Path) -> None:
    done = type_command("run", "-m", f"cassette/{cassette}", *_DATA, "--limit", "3", "--out", str(tmp_path / "more"))
    assert done.code == 3
    status = json.loads(type_command("status", str(tmp_path / "more"), "--json").out)["models"][0]
    assert (status["ok"], status["errors"]) == (4, {"not-in-cassette": 2})


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("both.cassette", "contains responses from several models: scripted/gullible, scripted/oracle. Export the"),
        ("none.cassette", "no such file"),
        ("recorded/run.sqlite", "is not a cassette"),
    ],
)
def test_files_that_cannot_be_replayed_are_refused(cassette: Path, name: str, problem: str) -> None:
    done = type_command("run", "-m", f"cassette/{cassette.parent / name}", *_DATA, "--out", str(cassette) + ".run")
    assert done.code in (1, 2)
    assert problem in done.err

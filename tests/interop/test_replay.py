"""`replay/…`: a run is repeated from its stored responses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import ragbed
from ragbed.interop.replay import ReplayModel
from ragbed.runs.execution import run
from ragbed.runs.store import StoredResult, open_store
from ragbed.schema import Case, Completion, Served
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, ask_nobody, canonical, make_case, make_job

_DATA = ("-d", "ragbed-mini-zh_fact", "--cache", "off")


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A run of two models."""
    models = ("-m", "scripted/gullible", "-m", "scripted/oracle")
    assert type_command("run", *models, *_DATA, "--limit", "2", "--out", str(tmp_path / "both")).code == 0
    return tmp_path / "both"


def _results(folder: Path) -> list[StoredResult]:
    with open_store(folder, create=False) as store:
        return [structs.replace(result, model="", request="") for result in store.results()]


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_a_model_of_a_run_is_replayed(both: Path, tmp_path: Path, form: str) -> None:
    source = str(both)
    if form == "archive":
        source = str(tmp_path / "both.zip")
        assert type_command("export", str(both), "--to", "archive", "-o", source).code == 0
    name = f"replay/{source}:scripted/gullible"
    done = type_command("run", "-m", name, *_DATA, "--limit", "2", "--out", str(tmp_path / "again"))
    assert done.code == 0, done.err
    type_command("run", "-m", "scripted/gullible", *_DATA, "--limit", "2", "--out", str(tmp_path / "first"))
    assert canonical(tmp_path / "again").replace(name.encode(), b"scripted/gullible") == canonical(tmp_path / "first")


def test_every_field_of_a_result_is_replayed(tmp_path: Path) -> None:
    """Failures keep their kind, and usage, latency, attempts and the served model are those of the stored run."""

    def say(case: Case) -> Completion:
        served = Served(model=f"m-{case.item}", id="1", fingerprint="f")
        common: dict[str, Any] = {"usage": {"in": 5, "out": 2}, "latency_s": 1.5, "attempts": 3, "served": served}
        return [
            Completion(outcome="ok", reply="x", finish="stop", reasoning="hm", **common),
            Completion(outcome="truncated", reply="y", finish="length", max_tokens=1024, **common),
            Completion(outcome="filtered", finish="content_filter", **common),
            Completion(outcome="error", error="timeout: no answer within 3 s", attempts=4),
        ][int(case.item)]

    run(make_job(tmp_path / "run", 4, TalkingModel(say), repeats=2), ask_nobody)
    replay = ReplayModel(str(tmp_path / "run"))
    run(make_job(tmp_path / "again", 4, replay, repeats=2), ask_nobody)
    asyncio.run(replay.close())
    assert _results(tmp_path / "again") == _results(tmp_path / "run")
    with open_store(tmp_path / "again", create=False) as store:
        assert store.served() == {replay.name: ["m-0", "m-1"]}


def test_all_calls_of_prompting_strategies_are_replayed(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0.4", "--limit", "4", "--cache", "off")
    options = (*words, "--strategies", "decompose,isolate,quote", "--out")
    first, again = tmp_path / "first", tmp_path / "again"
    assert type_command("run", "-m", "scripted/first-doc", *options, str(first)).code == 0
    done = type_command("run", "-m", f"replay/{first}", *options, str(again))
    assert done.code == 0, done.err
    assert max(len(result.completion.steps) for result in _results(first)) > 3
    assert _results(again) == _results(first)


def test_an_end_to_end_run_is_replayed_without_the_system(tmp_path: Path) -> None:
    @ragbed.system
    def mine(case: ragbed.SystemCase) -> dict[str, Any]:
        return {"answer": "?", "contexts": [case.question]}

    options: dict[str, Any] = {"data": "ragbed-mini-en_base", "testbeds": "own-rag", "limit": 2}
    first = ragbed.run(mine, out=tmp_path / "first", progress=False, **options)
    again = ragbed.run(f"replay/{first.folder}", out=tmp_path / "again", progress=False, **options)
    assert _results(again.folder) == _results(first.folder)


def test_a_missing_case_is_named(both: Path, tmp_path: Path) -> None:
    name, out = f"replay/{both}:scripted/gullible", tmp_path / "more"
    done = type_command("run", "-m", name, *_DATA, "--limit", "3", "--out", str(out))
    assert done.code == 3
    assert "First error: not-recorded: both has no response to ragbed-mini-zh_fact/zh-fact-2/" in done.err
    status = json.loads(type_command("status", str(out), "--json").out)["models"][0]
    assert (status["ok"], status["errors"]) == (4, {"not-recorded": 2})


def test_another_prompt_and_another_repeat_are_named(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 1, TalkingModel(lambda _: Completion(outcome="ok", reply="x"))), ask_nobody)
    model, case = ReplayModel(str(tmp_path / "run")), make_case(0)
    other = structs.replace(case, messages=make_case(1).messages)
    errors = [asyncio.run(model.complete(*words)).error for words in ((case,), (other,), (case, 1))]
    asyncio.run(model.close())
    assert errors == [
        None,
        f"not-recorded: run has a different prompt for {case.case}",
        f"not-recorded: run has no response to {case.case} with repeat 2",
    ]


def test_a_replay_of_another_content_is_another_model(both: Path, tmp_path: Path) -> None:
    name, out = f"replay/{both}:scripted/oracle", str(tmp_path / "again")
    assert type_command("run", "-m", name, *_DATA, "--limit", "2", "--out", out).code == 0
    models = ("-m", "scripted/gullible", "-m", "scripted/oracle", "-m", "scripted/refuser")
    assert type_command("run", *models, *_DATA, "--limit", "2", "--out", str(both)).code == 0
    done = type_command("run", "-m", name, *_DATA, "--limit", "2", "--out", out)
    assert (done.code, f"{name} was scripted/oracle" in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("both", "contains 2 models. Choose one of them: replay/"),
        ("both:nobody", "unknown model 'nobody'"),
    ],
)
def test_runs_that_cannot_be_replayed_are_refused(both: Path, tmp_path: Path, spec: str, problem: str) -> None:
    done = type_command("run", "-m", f"replay/{tmp_path / spec}", *_DATA, "--out", str(tmp_path / "again"))
    assert done.code in (1, 2)
    assert problem in done.err


def test_a_run_and_its_archive_have_the_same_identity(both: Path) -> None:
    path = both.with_suffix(".zip")
    assert type_command("export", str(both), "--to", "archive", "-o", str(path)).code == 0
    models = [ReplayModel(f"{source}:scripted/oracle") for source in (both, path)]
    first, second = (asyncio.run(model.identity()) for model in models)
    for model in models:
        asyncio.run(model.close())
    assert first == second

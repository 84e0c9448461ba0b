"""`ragbed export` of a run, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

from ragbed.runs.execution import run
from ragbed.schema import Case, Completion
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_case, make_job


def _mixed(case: Case) -> Completion:
    if case.item == "1":
        return Completion(outcome="error", error="timeout: no reply within 3 s", attempts=6)
    return Completion(outcome="ok", reply=f"It is gold-{case.item}.", finish="stop", usage={"in": 7}, latency_s=0.41)


def test_a_trial_is_a_case_line_and_what_came_of_it(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 2, TalkingModel(_mixed)), ask_nobody)
    output = tmp_path / "run.jsonl"
    done = type_command("export", str(tmp_path / "run"), "--to", "jsonl", "-o", str(output), "--json")
    failed_one = f"test/talking on {make_case(1).case}: timeout"
    assert json.loads(done.out) == {"trials": 2, "format": "jsonl", "output": str(output), "failed": [failed_one]}
    assert f"Trials without a response: 1. They were exported with their outcome:\n  {failed_one}" in done.err
    right, failed = map(json.loads, output.read_text("utf-8").splitlines())
    assert right["case"] == make_case(0).case
    assert right["documents"] == [{"text": "It is gold-0.", "stance": "supports", "kind": "related", "source": 0}]
    told = {"model": "test/talking", "repeat": 0, "outcome": "ok", "error": None, "reply": "It is gold-0."}
    told |= {"finish": "stop", "usage": {"in": 7}, "latency_s": 0.41, "attempts": 1}
    assert told.items() <= right.items()
    assert right["scores"]["code.label"] == [1]
    assert not {"rotation", "event"} & right.keys()
    assert (failed["outcome"], failed["error"], failed["attempts"]) == ("error", "timeout: no reply within 3 s", 6)
    assert (failed["scores"]["correct"], "unsure" in failed["scores"]) == (False, False)


def test_canonical_leaves_out_what_differs_between_equal_runs(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 12, TalkingModel(_mixed)), ask_nobody)
    output = tmp_path / "run.jsonl"
    assert type_command("export", str(tmp_path / "run"), "--to", "jsonl", "-o", str(output), "--canonical").code == 0
    lines = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [line["case"] for line in lines] == sorted(make_case(number).case for number in range(12))
    assert not any({"latency_s", "attempts"} & line.keys() for line in lines)
    assert [line["error"] for line in lines if line["item"] == "1"] == ["timeout"]


def test_formats_and_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 1, TalkingModel(agree)), ask_nobody)
    done = type_command("export", str(tmp_path / "run"), "--to", "jsonl", "-o", str(tmp_path / "x"), "--noise", "0.4")
    assert (done.code, done.err) == (
        2,
        "ragbed: --noise has no effect here: a run is always exported with its original settings.\n",
    )
    done = type_command("export", "figure1", "--to", "rgb", "-o", str(tmp_path / "x"), "--canonical")
    assert done.code == 2
    assert not (tmp_path / "x").exists()


def test_a_library_that_is_missing_is_named_with_its_install_command(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 1, TalkingModel(agree)), ask_nobody)
    done = type_command("export", str(tmp_path / "run"), "--to", "parquet", "-o", str(tmp_path / "x"))
    assert (done.code, (tmp_path / "x").exists()) == (2, False)
    assert done.err == "ragbed: Parquet files require pyarrow: pip install 'ragbed[parquet]'.\n"

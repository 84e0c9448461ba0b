"""`ragbed build quality`, as typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from ragbed.runs.execution import run as run_job
from ragbed.schema import Case, Completion
from tests.cli.typed import type_command
from tests.items import as_dataset, base_item
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_case, make_job


def test_a_gate_that_does_not_hold_ends_with_4(rgb_dir: Path, tmp_path: Path) -> None:
    page = tmp_path / "quality.html"
    done = type_command("build", "quality", str(rgb_dir / "en_fact.json"), "-o", str(page), "--json")
    assert done.code == 4
    assert "positive precision" in done.err
    assert page.read_text("utf-8").startswith("<!doctype html>")
    summary = json.loads(done.out.splitlines()[-1])
    assert summary["ok"] is False
    assert summary["quality"]["items"] == 100


def test_a_dataset_without_faults_ends_with_0(tmp_path: Path) -> None:
    report = tmp_path / "quality.json"
    done = type_command("build", "quality", "ragbed-mini-en_fact", "-o", str(report))
    assert done.code == 0, done.err
    assert json.loads(report.read_text("utf-8"))["ok"] is True


def test_a_report_is_what_its_name_ends_in_or_is_refused(tmp_path: Path) -> None:
    done = type_command("build", "quality", "ragbed-mini-en_fact", "-o", str(tmp_path / "quality.txt"))
    assert (done.code, done.out, "the name of the report file must end in .html or .json" in done.err) == (2, "", True)
    type_command("build", "quality", "ragbed-mini-en_fact", "-o", str(tmp_path / "Q.JSON"))
    assert json.loads((tmp_path / "Q.JSON").read_text("utf-8"))["ok"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["Q.JSON"]


def test_two_editions_are_compared() -> None:
    done = type_command("build", "quality", "ragbed-mini-en_fact", "--against", "ragbed-mini-en_base", "--json")
    drift = json.loads(done.out.splitlines()[-1])["drift"]
    assert (drift["shared"], drift["added"]) == (0, 20)
    assert "Since ragbed-mini-en_base" in done.err


def test_a_folder_without_items_is_refused(tmp_path: Path) -> None:
    done = type_command("build", "quality", str(tmp_path))
    assert done.code == 2
    assert "no item files" in done.err


def test_runs_tell_what_a_model_knows_before_and_after_its_cut_off(tmp_path: Path) -> None:
    data = str(as_dataset(tmp_path, *(base_item(year, date=f"{year}-05-01") for year in range(2017, 2022))).path)
    run = str(tmp_path / "run")
    asked = type_command("run", "-m", "baseline/lexical", "-d", data, "--out", run)
    assert asked.code == 0, asked.err
    words = ("build", "quality", data, "--runs", run, "--json")
    done = type_command(*words, "--cutoff", "baseline/lexical=2019-01-01")
    figures = {one["name"]: one for one in json.loads(done.out.splitlines()[-1])["quality"]["families"]["models"]}
    documents = [figures[f"accuracy {way} 2019-01-01, with documents"]["n"] for way in ("up to", "after")]
    assert documents == [2, 3]
    assert figures["discrimination"]["note"] == "requires runs of two models"


def conditions() -> Iterator[Case]:
    """Five items: answered, failed, infeasible, and two that only a remedy or another arm gets right."""
    for number in range(5):
        yield make_case(number, feasible=number != 2)
    for number, changes in ((3, {"profile": "robust+quote"}), (4, {"arm": "random"})):
        for time in range(2):
            yield replace(make_case(number), case=f"made/{number}/noise@again={time}", **changes)


def say(case: Case) -> Completion:
    """Fails at item 1, and gets 3 and 4 right only where they are not asked plainly."""
    if case.item == "1":
        return Completion(outcome="error", error="timeout: 60 s")
    is_plain = case.profile == "robust" and case.arm == "related"
    return Completion(outcome="ok", reply="Nobody knows.") if is_plain and case.item in "34" else agree(case)


def test_a_failed_trial_is_not_right_and_other_conditions_than_the_plain_prompt_are_left_out(tmp_path: Path) -> None:
    run_job(make_job(tmp_path / "run", 0, TalkingModel(say), cases=conditions), ask_nobody)
    data = as_dataset(tmp_path, *(base_item(number, date="2024-05-01") for number in range(5)))
    words = ("build", "quality", str(data.path), "--runs", str(tmp_path / "run"), "--json")
    done = type_command(*words, "--cutoff", "test/talking=2024-06-01")
    figures = {one["name"]: one for one in json.loads(done.out.splitlines()[-1])["quality"]["families"]["models"]}
    found = figures["accuracy up to 2024-06-01, with documents"]
    assert (found["hits"], found["n"]) == (1, 4)


def test_a_cut_off_that_is_none_is_refused(tmp_path: Path) -> None:
    words = ("build", "quality", "ragbed-mini-en_base", "--runs", str(tmp_path))
    assert "does not have the form MODEL=DATE" in type_command(*words, "--cutoff", "2024-06-01").err
    assert "is not a valid date" in type_command(*words, "--cutoff", "m/a=June").err
    assert "--cutoff requires --runs" in type_command(*words[:3], "--cutoff", "m/a=2024-06-01").err

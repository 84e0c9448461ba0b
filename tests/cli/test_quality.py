"""`ragbed build --quality`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.typed import type_command
from tests.items import as_dataset, base_item


def test_a_gate_that_does_not_hold_ends_with_4(rgb_dir: Path, tmp_path: Path) -> None:
    page = tmp_path / "quality.html"
    done = type_command("build", "--quality", str(rgb_dir / "en_fact.json"), "-o", str(page), "--json")
    assert done.code == 4
    assert "positive precision" in done.err
    assert page.read_text().startswith("<!doctype html>")
    summary = json.loads(done.out.splitlines()[-1])
    assert summary["ok"] is False
    assert summary["quality"]["items"] == 100


def test_a_dataset_without_faults_ends_with_0(tmp_path: Path) -> None:
    report = tmp_path / "quality.json"
    done = type_command("build", "--quality", "ragbed-mini-en_fact", "-o", str(report))
    assert done.code == 0, done.err
    assert json.loads(report.read_text())["ok"] is True


def test_two_editions_are_compared() -> None:
    done = type_command("build", "--quality", "ragbed-mini-en_fact", "--against", "ragbed-mini-en_base", "--json")
    drift = json.loads(done.out.splitlines()[-1])["drift"]
    assert (drift["shared"], drift["added"]) == (0, 20)
    assert "Since ragbed-mini-en_base" in done.err


def test_a_folder_without_items_is_refused(tmp_path: Path) -> None:
    done = type_command("build", "--quality", str(tmp_path))
    assert done.code == 2
    assert "no files of items" in done.err


def test_runs_tell_what_a_model_knows_before_and_after_its_cut_off(tmp_path: Path) -> None:
    data = str(as_dataset(tmp_path, *(base_item(year, date=f"{year}-05-01") for year in range(2017, 2022))).path)
    run = str(tmp_path / "run")
    asked = type_command("run", "-m", "baseline/lexical", "-d", data, "--out", run)
    assert asked.code == 0, asked.err
    words = ("build", "--quality", data, "--runs", run, "--json")
    done = type_command(*words, "--cutoff", "baseline/lexical=2019-01-01")
    figures = {one["name"]: one for one in json.loads(done.out.splitlines()[-1])["quality"]["families"]["models"]}
    documents = [figures[f"accuracy {way} 2019-01-01, with documents"]["n"] for way in ("up to", "after")]
    assert documents == [2, 3]
    assert figures["discrimination"]["note"] == "needs runs of two models"


def test_a_cut_off_that_is_none_is_refused(tmp_path: Path) -> None:
    words = ("build", "--quality", "ragbed-mini-en_base", "--runs", str(tmp_path))
    assert "write MODEL=DATE" in type_command(*words, "--cutoff", "2024-06-01").err
    assert "is no day" in type_command(*words, "--cutoff", "m/a=June").err
    assert "--cutoff needs --runs" in type_command(*words[:3], "--cutoff", "m/a=2024-06-01").err


def test_what_goes_with_quality_is_refused_without_it() -> None:
    done = type_command("build", "recipes/rgb.toml", "--corpus", "crawl")
    assert (done.code, "go with --quality" in done.err) == (2, True)

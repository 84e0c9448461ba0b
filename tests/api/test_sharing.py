"""Runs reported, exported, imported and merged from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragbed

DATA = "ragbed-mini-en_base"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ragbed.Run:
    return ragbed.run(
        "scripted/oracle", DATA, testbeds="noise", noise=[0, 0.4], limit=5, out=tmp_path_factory.mktemp("r") / "a"
    )


def test_a_report_is_text_files_and_cells(run: ragbed.Run, tmp_path: Path) -> None:
    markdown = ragbed.report(run, format="md", out=tmp_path / "report.md")
    assert markdown["text"] == (tmp_path / "report.md").read_text("utf-8")
    assert [
        row["value"] for row in markdown.records() if row["metric"] == "accuracy" and row["scorer"] == "robust"
    ] == [1.0, 1.0]
    page = ragbed.report([run], format="html", out=tmp_path / "report.html", locale="zh")
    assert page["paths"] == [tmp_path / "report.html"]
    figures = ragbed.report(run, format="svg", out=tmp_path / "figures")
    assert figures["paths"]
    assert all(path.read_text("utf-8").startswith("<svg") for path in figures["paths"])


def test_a_site_has_a_leaderboard_and_a_report_on_each_run(run: ragbed.Run, tmp_path: Path) -> None:
    result = ragbed.report(run.folder.parent, format="site", out=tmp_path / "site")
    assert [path.name for path in result["paths"]] == ["index.html", "run-a.html"]
    assert "scripted/oracle" in result["paths"][0].read_text("utf-8")


def test_answers_of_another_system_become_a_run(run: ragbed.Run, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    lines = [{"case": trial["case"], "reply": trial["reply"]} for trial in run.trials()]
    answers.write_text("".join(json.dumps(line) + "\n" for line in [*lines[:-1], {"case": "other", "reply": "?"}]))
    options: dict[str, Any] = {"testbeds": "noise", "noise": [0, 0.4], "limit": 5}
    imported = ragbed.import_results(answers, "jsonl", tmp_path / "mine", data=DATA, model="mine/rag", **options)
    assert (imported["matched"], imported["missing"], len(imported["problems"]), imported.exit_code) == (9, 1, 1, 3)
    assert ragbed.open_run(imported["output"]).outcomes == {"ok": 9, "error": 1}


def test_items_in_memory_are_exported(tmp_path: Path) -> None:
    item = {"id": "1", "query": "Who won?", "answer": "Ann", "positive": ["Ann won."], "negative": ["Bo lost."]}
    exported = ragbed.export({"mine": [item]}, "native", tmp_path / "mine.jsonl")
    assert exported["items"] == 1
    assert "Who won?" in (tmp_path / "mine.jsonl").read_text("utf-8")


def test_a_run_survives_an_archive(run: ragbed.Run, tmp_path: Path) -> None:
    exported = ragbed.export(run, "archive", tmp_path / "a.zip")
    assert (exported["trials"], exported.exit_code) == (10, 0)
    ragbed.import_results(tmp_path / "a.zip", "archive", tmp_path / "again")
    assert ragbed.open_run(tmp_path / "again").metrics() == run.metrics()


def test_shards_are_merged(tmp_path: Path) -> None:
    options: dict[str, Any] = {"model": "scripted/oracle", "data": DATA, "testbeds": "noise", "noise": 0, "limit": 6}
    parts = [ragbed.run(**options, shard=f"{n}/2", out=tmp_path / str(n)) for n in (1, 2)]
    merged = ragbed.merge(parts, tmp_path / "merged")
    assert (merged["results"], ragbed.open_run(merged["output"]).outcomes) == (6, {"ok": 6})

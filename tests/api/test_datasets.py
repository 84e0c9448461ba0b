"""Datasets previewed, checked, generated and downloaded from Python."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.errors import DownloadError

DATA = "ragbed-mini-en_base"


def test_cases_are_counted_written_and_generated_on_demand(tmp_path: Path) -> None:
    out, sink = tmp_path / "cases.jsonl", io.BytesIO()
    chosen: dict[str, Any] = {"testbeds": ["noise", "rejection"], "noise": [0, 1], "limit": 6}
    exported, counts = ragbed.export([DATA], "jsonl", out, **chosen), ragbed.export([DATA], "jsonl", **chosen)
    assert counts["conditions"] == exported["conditions"]
    assert {(row["testbed"], row["noise"], row["feasible"]) for row in counts.records()} >= {("rejection", 1.0, 6)}
    assert len(list(ragbed.cases([DATA], **chosen))) == len(out.read_text("utf-8").splitlines())
    ragbed.export(DATA, "jsonl", sink, **chosen)
    assert sink.getvalue() == out.read_bytes()
    with pytest.raises(ragbed.UsageError, match="is the input dataset itself"):
        ragbed.export("figure1", "jsonl", ragbed.datasets().records()[0]["folder"] + "/figure1.jsonl", num_docs=2)


def test_cases_of_items_in_memory() -> None:
    items = [
        {"id": "1", "query": "Who won?", "answer": "Ann", "positive": ["Ann won."] * 3, "negative": ["Bo lost."] * 3}
    ]
    (case,) = ragbed.cases({"mine": items}, testbeds="noise", noise=0.5, num_docs=2)
    assert (case.data, case.question, len(case.documents)) == ("mine", "Who won?", 2)


def test_items_in_memory_may_have_a_given_language_and_documents(tmp_path: Path) -> None:
    (tmp_path / "ann.txt").write_text("Ann won.")
    items = [{"id": "1", "query": "Who won?", "answer": "Ann", "positive": ["Ann won."] * 3, "negative": ["No."] * 3}]
    for options in ({"data_lang": "en"}, {"docs": tmp_path}):
        (case,) = ragbed.cases(items, testbeds="noise", noise=0.5, num_docs=2, **options)
        assert case.question == "Who won?"


def test_items_in_memory_are_exported(tmp_path: Path) -> None:
    item = {"id": "1", "query": "Who won?", "answer": "Ann", "positive": ["Ann won."], "negative": ["Bo lost."]}
    assert ragbed.export({"mine": [item]}, "native", tmp_path / "mine.jsonl")["items"] == 1
    assert "Who won?" in (tmp_path / "mine.jsonl").read_text("utf-8")


def test_lint_keeps_the_first_findings_or_all(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    bad = {"query": "Who won?", "answer": "Ann Lee", "positive": ["Ann Lee"], "negative": ["Ann Lee"]}
    path.write_text("".join(json.dumps({"id": number, **bad}) + "\n" for number in range(8)))
    few, every = ragbed.lint(path), ragbed.lint(path, only="gold-in-negative")
    assert (few["ok"], few["findings"]["warning"] >= 8) == (True, True)
    (row,) = every.records()
    assert (row["data"], row["rule"], row["severity"], row["items"]) == ("mine", "gold-in-negative", "warning", 8)
    assert len([found for found in few["data"][0]["findings"] if found.rule == "gold-in-negative"]) == 3
    assert len(every["data"][0]["findings"]) == 8
    assert ragbed.lint("ragbed-mini-zh_base", only="record")["ok"]


def test_synthetic_data_is_written_once(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []

    class Seen(ragbed.Progress):
        def count(self, task: str, done: int, total: int | None = None) -> None:
            seen.append((task, done, total))

    made = ragbed.synthesize(tmp_path, items=6, lang=["en"], integration=0, workers=1, progress=Seen())
    assert [Path(row["file"]).name for row in made.records()] == ["en_base.jsonl", "en_fact.jsonl"]
    assert seen[-1] == ("items", 8, 8)
    again = ragbed.synthesize(tmp_path, items=6, lang="en", integration=0, workers=1)
    assert again["manifest"] == made["manifest"]
    with pytest.raises(ragbed.UsageError, match="was not generated with these options"):
        ragbed.synthesize(tmp_path, items=9, lang="en", workers=1)


def test_a_download_lists_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBED_DATA_DIR", str(tmp_path / "data"))
    assert [row["state"] for row in ragbed.download("figure1").records()] == ["present"]
    monkeypatch.setattr("ragbed.data.catalog.install.download", lambda *_: {"en.json": "no space left."})
    with pytest.raises(DownloadError, match=r"1 of 1 files for rgb could not be downloaded\. no space left\. Rerun"):
        ragbed.download("rgb")
    listed = {row["name"]: row["complete"] for row in ragbed.datasets().records()}
    assert (listed["figure1"], listed["rgb"]) == (True, False)

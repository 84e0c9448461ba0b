"""`ragbed build quality`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.typed import type_command


def test_a_gate_that_does_not_hold_ends_with_4(rgb_dir: Path, tmp_path: Path) -> None:
    page = tmp_path / "quality.html"
    done = type_command("build", "quality", str(rgb_dir / "en_fact.json"), "-o", str(page), "--json")
    assert done.code == 4
    assert "Failed gates: label agreement, supporting, label agreement, distracting" in done.err
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


def test_a_folder_without_items_is_refused(tmp_path: Path) -> None:
    done = type_command("build", "quality", str(tmp_path))
    assert done.code == 2
    assert "no item files" in done.err

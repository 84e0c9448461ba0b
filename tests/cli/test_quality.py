"""`ragbed build quality`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.typed import type_command


def test_a_gate_that_does_not_hold_ends_with_4(rgb_dir: Path) -> None:
    done = type_command("build", "quality", str(rgb_dir / "en_fact.json"), "--json")
    assert done.code == 4
    assert "Failed gates: label agreement, supporting, label agreement, distracting" in done.err
    summary = json.loads(done.out.splitlines()[-1])
    assert (summary["ok"], summary["quality"]["items"]) == (False, 100)


def test_a_dataset_without_faults_ends_with_0() -> None:
    done = type_command("build", "quality", "ragbed-mini-en_fact", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["ok"] is True


def test_a_folder_without_items_is_refused(tmp_path: Path) -> None:
    done = type_command("build", "quality", str(tmp_path))
    assert done.code == 2
    assert "no item files" in done.err

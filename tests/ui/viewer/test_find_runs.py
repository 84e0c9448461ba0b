from __future__ import annotations

from pathlib import Path

from ragbed.ui.viewer.find_runs import find_runs
from tests.ui.viewer.runs import CASES, REPLIES, write_run


def test_runs_are_found_in_folders_and_judges_are_not_runs(tmp_path: Path) -> None:
    for name in ("one", "two", "one/judge/refusal-1", "deep/er/three"):
        write_run(tmp_path / name, CASES, REPLIES)
    assert list(find_runs([tmp_path])) == ["deep/er/three", "one", "two"]
    assert list(find_runs([tmp_path / "two", tmp_path])) == ["two", "deep/er/three", "one"]


def test_two_runs_with_one_name_get_unique_names_and_keep_them(tmp_path: Path) -> None:
    for name in ("a/run", "b/run"):
        write_run(tmp_path / name, CASES, REPLIES)
    paths = [tmp_path / "a", tmp_path / "b"]
    assert find_runs(paths) == {"run": tmp_path / "a" / "run", "run (2)": tmp_path / "b" / "run"}
    known = find_runs([tmp_path / "b"])
    assert find_runs(paths, known) == {"run": tmp_path / "b" / "run", "run (2)": tmp_path / "a" / "run"}

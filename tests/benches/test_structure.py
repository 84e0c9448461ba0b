"""Counts of the code structure, their budgets, and the trace of one case."""

from __future__ import annotations

from pathlib import Path

from benches.structure import count_structure, find_excesses, find_shared_classes, lower

_FILES = {
    "src/ragbed/__init__.py": '"""Docstring."""\n',
    "src/ragbed/cli/main.py": "import os\n\n\ndef main():\n    return os\n",
    "src/ragbed/api/runs.py": "class Report: ...\n",
    "src/ragbed/runs/store.py": "class Report: ...\nclass _Hidden: ...\n",
    "src/ragbed/ui/page.js": "1\n2\n",
    "src/ragbed/analysis/en.toml": "a = 1\n",
    "tests/test_x.py": "x = 1\n",
    "scripts/a.py": "x = 1\n",
    "study/b.py": "x = 1\ny = 2\n",
}


def _write(root: Path) -> Path:
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_lines_statements_and_files_are_counted_by_package(tmp_path: Path) -> None:
    counts = count_structure(_write(tmp_path))
    assert counts["api + cli"] == {"lines": 6, "statements": 5, "files": 2}
    assert counts["data + io + retrieval + top-level modules"] == {"lines": 1, "statements": 1, "files": 1}
    assert counts["src"] == {"lines": 9, "statements": 10, "files": 4, "shared_class_names": 1}
    assert {name: counts[name]["lines"] for name in ("tests", "benches + scripts + study", "src, js", "src, toml")} == {
        "tests": 1,
        "benches + scripts + study": 3,
        "src, js": 2,
        "src, toml": 1,
    }
    assert list(find_shared_classes(tmp_path)) == ["Report"]


def test_a_count_above_its_budget_or_without_one_is_reported() -> None:
    counts = {"runs": {"lines": 11, "files": 2}, "new": {"lines": 1}}
    assert find_excesses(counts, {"runs": {"lines": 10, "files": 2}}) == [
        "runs has 11 lines, but its budget is 10.",
        "new has no budget for lines; add it to benches/budgets.toml.",
    ]


def test_budgets_are_lowered_and_never_raised() -> None:
    counts = {"runs": {"lines": 11, "files": 1}, "new": {"lines": 1}}
    assert lower(counts, {"runs": {"lines": 10, "files": 2}}) == {
        "runs": {"lines": 10, "files": 1},
        "new": {"lines": 1},
    }

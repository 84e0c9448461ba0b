"""The published results of local models in the testbed `search` equal a replay of their recorded responses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragbed

_PROJECT = Path(__file__).parents[2] / "docs" / "project"
_ROWS = {
    "accuracy, complete corpus": ("complete", "accuracy"),
    "refusal, answer withheld": ("withheld", "refusal"),
    "episodes without a search": ("complete", "never_searched"),
    "ended at a limit": ("complete", "search_limit"),
}


def _show(row: dict[str, Any] | None) -> str:
    return "–" if row is None else f"{100 * row['value']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


@pytest.mark.parametrize(
    ("model", "column"), [("SmolLM2-135M", 1), ("Qwen2.5-Coder-0.5B", 2), ("Qwen2.5-Coder-1.5B", 3)]
)
def test_the_table_equals_the_recorded_responses(model: str, column: int, tmp_path: Path) -> None:
    cassette = _PROJECT / "data" / f"search-{model}.cassette"
    run = ragbed.import_results(cassette, "cassette", tmp_path / "run").run
    assert "error" not in run.outcomes
    cells = {
        (row["arm"], row["metric"]): row
        for row in run.metrics()
        if (row["table"], row["track"]) == ("search", "robust")
    }
    lines = (_PROJECT / "benchmarks.md").read_text("utf-8").splitlines()
    rows = ([part.strip() for part in line.split("|")] for line in lines if line.startswith("|"))
    shown = {row[1]: row[1 + column] for row in rows if row[1] in _ROWS}
    assert {title: shown[title] for title in _ROWS} == {title: _show(cells.get(at)) for title, at in _ROWS.items()}

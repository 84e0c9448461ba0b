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
    "invalid calls": ("complete", "search_invalid"),
    "ended at a limit": ("complete", "search_limit"),
    "accuracy with given documents": ("complete", "given_rate"),
    "difference, paired": ("complete", "search_gap"),
}


def _show(row: dict[str, Any] | None) -> str:
    return "–" if row is None else f"{100 * row['value']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


@pytest.mark.parametrize(
    ("name", "column", "options"),
    [
        ("search-smollm2-135m", 1, {"limit": 20, "testbeds": "noise,search", "noise": 0}),
        ("search-qwen2.5-coder-1.5b", 2, {"limit": 12, "testbeds": "search"}),
    ],
)
def test_the_table_equals_the_recorded_responses(
    name: str, column: int, options: dict[str, Any], tmp_path: Path
) -> None:
    run = ragbed.run(
        f"cassette/{_PROJECT / 'data' / name}.cassette", "ragbed-mini-en_base", out=tmp_path / "run", max_tokens=64,
        search="protocol=text,turns=4", no_cache=True, progress=False, **options,
    )  # fmt: skip
    assert "error" not in run.outcomes
    cells = {
        (row["arm"], row["metric"]): row
        for row in run.metrics()
        if (row["table"], row["track"]) == ("search", "robust")
    }
    lines = (_PROJECT / "benchmarks.md").read_text("utf-8").splitlines()
    rows = ([part.strip() for part in line.split("|")] for line in lines if line.startswith("| "))
    shown = {row[1]: row[1 + column] for row in rows if row[1] in _ROWS}
    assert {title: shown[title] for title in _ROWS} == {title: _show(cells.get(at)) for title, at in _ROWS.items()}

"""docs/reference/lint-rules.md agrees with the rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragbed.analysis.linting import RULES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lint-rules.md"


def _rows(cells: int) -> list[list[str]]:
    """Return the rows of tables with this number of columns whose first cell is a rule."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    trimmed = [[cell.strip() for cell in row] for row in rows]
    return [[row[0].strip("`"), *row[1:]] for row in trimmed if len(row) == cells and row[0].startswith("`")]


def test_every_rule_is_described_with_its_severity() -> None:
    described = {row[0]: row[1] for row in _rows(4) if row[1] in ("error", "warning", "note")}
    assert described == {rule.name: rule.severity for rule in RULES.values()}


@pytest.mark.parametrize("name", [rule.name for rule in RULES.values() if rule.definitions])
def test_every_definition_is_described(name: str) -> None:
    (row,) = [row for row in _rows(4) if row[0] == name and row[1] in ("error", "warning", "note")]
    for definition in RULES[name].definitions:
        assert f"`{definition}`" in row[2] or "no supporting, no distracting" in row[2]

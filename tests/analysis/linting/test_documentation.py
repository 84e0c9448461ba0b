"""docs/reference/lint-rules.md agrees with the rules."""

from __future__ import annotations

import re
from pathlib import Path

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

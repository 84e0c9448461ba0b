"""docs/reference/lint-rules.md agrees with the rules, and with their findings on the published files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from ragbed.analysis.linting import RULES, DatasetCheck, LintFinding
from ragbed.analysis.linting.counts import RuleCount

Checked = dict[str, tuple[list[LintFinding], DatasetCheck]]

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lint-rules.md"
COUNTS = PAGE.parents[1] / "project" / "data" / "lint-counts.csv"


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


def test_the_documented_counts_of_published_files_are_right(checked: Checked) -> None:
    with open(COUNTS, encoding="utf-8", newline="") as source:
        rows = list(csv.reader(source))[1:]
    assert {row[0] for row in rows} == set(RULES)
    for rule, sense, *cells in rows:
        counts = [check.tally.count(rule, None if sense == "–" else sense) for _, check in checked.values()]
        assert cells == [_cell(count) for count in counts], (rule, sense)


def _cell(count: RuleCount) -> str:
    return f"{count.items:,} ({count.documents:,})" if count.documents else f"{count.items:,}"

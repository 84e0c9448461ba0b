"""Counts of findings in the published files, so that a change of a rule is noticed.

The prompts of the original code are tested in tests/testbeds/test_golden.py.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ragbed.analysis.linting import RULES, DatasetCheck, LintFinding
from ragbed.analysis.linting.checker import RuleCount
from ragbed.analysis.linting.rules import Questions
from ragbed.data import Dataset


@pytest.fixture(scope="session")
def checked(rgb_dir: Path) -> dict[str, tuple[list[LintFinding], DatasetCheck]]:
    """Return findings and counts by file, in the order of docs/reference/lint-rules.md."""
    questions: Questions = {}
    files = {}
    for name in ("en_fact", "zh_int", "zh_refine"):
        check = DatasetCheck(Dataset(name, rgb_dir / f"{name}.json"), list(RULES.values()), questions=questions)
        files[name] = (list(check.findings()), check)
    return files


Checked = dict[str, tuple[list[LintFinding], DatasetCheck]]
PINS = {
    "en_fact": "92f4b2330ee407f74fbd923197028ef5140cfbc1f4b4092efec2d4d10ae6c9e5",
    "zh_int": "e2ddb0461e2130f4b006996a574a89d5898989ff8b15f51d900c17162c7d1b17",
    "zh_refine": "7a5c7547dcfa1b83429b53a41644453508f820f502d3817312cbf8051afb4563",
}
DOCUMENTED = Path(__file__).parents[3] / "docs" / "project" / "data" / "lint-counts.csv"

# file, rule, items
NAMED: list[tuple[str, str, set[int]]] = [
    ("zh_refine", "gold-in-negative", {184, 238, 265}),
    ("zh_refine", "positive-without-gold", {48, 92, 111, 177, 211}),
    ("zh_refine", "space-in-alias", {46, 88}),
    ("zh_int", "space-in-alias", {52}),
    ("zh_int", "positive-without-gold", {13, 30, 40, 59, 61, 71}),
    ("en_fact", "edit-without-fake", {19, 43, 73}),
    ("en_fact", "gold-in-edit", {43, 73}),
    ("en_fact", "edge-mark", {73}),
]


@pytest.mark.parametrize("file", PINS)
def test_the_files_are_the_published_ones(file: str, rgb_dir: Path) -> None:
    assert Dataset(file, rgb_dir / f"{file}.json").sha256() == PINS[file]


@pytest.mark.parametrize(("file", "rule", "items"), NAMED)
def test_a_count_is_of_these_items(file: str, rule: str, items: set[int], checked: Checked) -> None:
    findings, _ = checked[file]
    assert {int(finding.item or -1) for finding in findings if finding.rule == rule} == items


def test_known_leaks_of_en_are_found_in_its_excerpt(en_top4: Path) -> None:
    check = DatasetCheck(Dataset("en_top4", en_top4), [RULES["gold-in-negative"]])
    assert {finding.item for finding in check.findings()} == {"6", "53"}


def test_the_documented_counts_of_published_files_are_right(checked: Checked) -> None:
    with open(DOCUMENTED, encoding="utf-8", newline="") as source:
        rows = list(csv.reader(source))[1:]
    counts = [{count.rule: count for count in check.counts} for _, check in checked.values()]
    assert rows == [[rule, *(_cell(found.get(rule)) for found in counts)] for rule in RULES]


def _cell(count: RuleCount | None) -> str:
    if count is None:
        return "0"
    return f"{count.items:,} ({count.documents:,})" if count.documents else f"{count.items:,}"

"""Every number of the results has a source file that says the same, or its section says that it has none."""

from __future__ import annotations

import json
import math
import re

import pytest

from benches import ROOT
from benches.results_tables import MEASURED, TABLES, render

_RESULTS = ROOT / "docs/project/results.md"
_MARK = "**No source.**"
# The only sections without a source: older measurements whose responses were not kept.
_WITHOUT = {"RGB data", "Prompting strategies"}


def _sections() -> dict[str, str]:
    """Return the sections of the page by title."""
    parts = re.split(r"^##+ (.+)$", _RESULTS.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", list(TABLES))
def test_a_table_says_what_its_source_says(name: str) -> None:
    page, _ = TABLES[name]
    assert render(name) in page.read_text("utf-8"), "run `python -m benches results_tables`"


def test_a_changed_number_is_noticed() -> None:
    page, _ = TABLES["perturbations"]
    assert render("perturbations").replace("247 → 219", "248 → 219") not in page.read_text("utf-8")


def test_every_section_has_a_source_or_says_that_it_has_none() -> None:
    sections = _sections()
    assert {title for title, text in sections.items() if text.strip().startswith(_MARK)} == _WITHOUT
    for title, text in sections.items():
        assert title in _WITHOUT or "<!-- from measured/" in text, title


def test_numbers_outside_the_tables_come_from_the_sources() -> None:
    """In sections with a source, the text around a table has no numbers of its own."""
    for title, text in _sections().items():
        if title not in _WITHOUT:
            prose = re.sub(r"<!-- from .*?<!-- end -->|`[^`]*`", "", text, flags=re.DOTALL)
            prose = prose.replace("SmolLM2-135M-Instruct (Q4_1), greedy, 32 tokens", "")
            assert re.findall(r"\d+", prose) == [], title


def test_counts_are_consistent() -> None:
    for row in json.loads((MEASURED / "perturbations.json").read_text("utf-8"))["perturbations"]:
        assert row["off"] - row["on"] == row["only_off"] - row["only_on"]
        assert max(row["off"], row["on"]) <= row["pairs"]


def test_the_stated_significance_follows_from_the_table() -> None:
    rows = [line.split(" | ") for line in render("perturbations").splitlines() if line.startswith("| `")]
    significant = {re.sub(r"\W", "", row[0].split("`")[1]) for row in rows if float(row[5]) < 0.05}
    names = {row[0].split("`")[1] for row in rows}
    assert names - significant == {"sibling", "length"}


def test_coverage_reaches_its_targets() -> None:
    figures = json.loads((MEASURED / "stats_coverage.json").read_text("utf-8"))["figures"]
    for name, figure in figures.items():
        if "least" in figure:
            error = 2 * math.sqrt(0.95 * 0.05 / figure["runs"]) if figure["runs"] else 0.0  # of a simulated share
            assert figure["least"] >= 0.93 - error, name
            assert 0.94 <= figure["mean"] <= 0.97, name

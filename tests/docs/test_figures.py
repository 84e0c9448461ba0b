"""The figures of the docs are those of the benchmarks' outputs in docs/project/data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benches.__main__ import MEMBERS
from tests.docs.blocks import ROOT

_PROJECT = ROOT / "docs" / "project"
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SHORT = 1  # Single digits are often counts in words of a row, not results.


def _sections(command: str) -> list[str]:
    """Return the parts of the project pages from a command to the end of the next table."""
    texts = [page.read_text("utf-8") for page in sorted(_PROJECT.rglob("*.md"))]
    return [
        found[0]
        for text in texts
        for found in re.finditer(rf"`python -m benches {command}[^`]*`.*?\n\n(?:\|[^\n]*\n)+", text, re.DOTALL)
    ]


def _rows(section: str) -> list[str]:
    return [line for line in section.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize("record", sorted((_PROJECT / "data").glob("*.txt")), ids=lambda record: record.stem)
def test_every_figure_of_a_table_is_in_the_record_of_its_benchmark(record: Path) -> None:
    assert record.stem in MEMBERS
    recorded = set(_NUMBER.findall(record.read_text("utf-8")))
    sections = _sections(record.stem)
    assert sections, f"no page cites `python -m benches {record.stem}`"
    for row in (row for section in sections for row in _rows(section)):
        figures = [number for number in _NUMBER.findall(re.sub(r"`[^`]*`", "", row)) if len(number) > _SHORT]
        assert not [number for number in figures if number not in recorded], row


def test_other_pages_have_no_logs_of_measurements() -> None:
    """How-to pages may quote single results with a link, but no table of them."""
    for page in sorted((ROOT / "docs" / "how-to").glob("*.md")):
        headings = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
        assert not [line for line in headings if re.search(r"\b[Mm]easured\b|\bTarget\b", line)], page

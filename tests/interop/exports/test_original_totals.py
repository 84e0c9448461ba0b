"""Totals with the denominators of the original code."""

from __future__ import annotations

from ragbed.interop.exports.original_code import original_totals
from tests.golden.facts import read_facts


def test_every_golden_total_is_reproduced() -> None:
    lines = list(read_facts("scores"))
    assert len(lines) == 36
    for line in lines:
        flags = line["factlabels"] if "fact" in line["file"] else None
        assert original_totals(line["labels"], flags, line["noise"]) == line["scores"], (line["file"], line["mix"])

"""Totals with the denominators of the original code."""

from __future__ import annotations

import pytest

from ragbed.interop.exports.original_code import original_totals
from tests.golden.facts import read_facts


def test_every_golden_total_is_reproduced() -> None:
    lines = list(read_facts("scores"))
    assert len(lines) == 36
    for line in lines:
        flags = line["factlabels"] if "fact" in line["file"] else None
        assert original_totals(line["labels"], flags, line["noise"]) == line["scores"], (line["file"], line["mix"])


@pytest.mark.parametrize(
    ("labels", "flags", "corrected", "rate"),
    [
        ([[1], [0], [-1]], [True, True, True], 2, 2 / 3),  # a refusal counts as a correction
        ([[1, 1], [1, 0]], [True, False], 1, 1),  # the denominator is the number of flags
        ([[1]], [False], 0, 0),
    ],
)
def test_the_original_code_counts_a_refusal_as_a_correction(
    labels: list[list[int]], flags: list[bool], corrected: int, rate: float
) -> None:
    totals = original_totals(labels, flags, 0)
    assert (totals["correct_tt"], totals["correct_rate"]) == (corrected, rate)


def test_at_noise_1_the_original_code_adds_correct_answers_to_refusals() -> None:
    assert [original_totals([[1], [-1], [0]], None, noise)["tt"] for noise in (1, 0.8)] == [2, 1]

"""Totals with the denominators of the original code and of the paper."""

from __future__ import annotations

import pytest

from ragbed.scoring import original_totals
from ragbed.scoring.original_totals import OriginalRate
from tests.golden.facts import read_facts


def test_every_golden_total_is_given() -> None:
    lines = list(read_facts("scores"))
    assert len(lines) == 36
    for line in lines:
        rate = original_totals.original_rate(line["labels"], line["noise"])
        given = {"all_rate": rate.value, "noise_rate": line["noise"], "tt": rate.hits, "nums": rate.of}
        if "fact" in line["file"]:
            detection = original_totals.original_detection(line["factlabels"])
            fixed = original_totals.original_correction(line["labels"], line["factlabels"])
            given |= {"fact_check_rate": detection.value, "fact_tt": detection.hits}
            given |= {"correct_rate": fixed.value or 0, "correct_tt": fixed.hits}
        assert given == line["scores"], (line["file"], line["mix"], line["noise"])


@pytest.mark.parametrize(
    ("labels", "flags", "original", "paper"),
    [
        ([[1], [0], [-1]], [True, True, True], OriginalRate(2, 3), OriginalRate(1, 3)),  # a refusal is no correction
        (
            [[1, 1], [1, 0]],
            [True, False],
            OriginalRate(1, 1),
            OriginalRate(1, 1),
        ),  # the denominator is what was detected
        ([[1]], [False], OriginalRate(0, 0), OriginalRate(0, 0)),
    ],
)
def test_the_paper_does_not_count_a_refusal_as_a_correction(
    labels: list[list[int]], flags: list[bool], original: OriginalRate, paper: OriginalRate
) -> None:
    assert original_totals.original_correction(labels, flags) == original
    assert original_totals.correction(labels, flags) == paper


def test_nothing_has_no_rate_and_raises_nothing() -> None:
    assert original_totals.original_rate([], 1).value is None
    assert original_totals.share([]).value is None


def test_where_all_documents_are_noise_the_original_adds_right_answers_to_refusals() -> None:
    assert original_totals.original_rate([[1], [-1], [0]], 1) == OriginalRate(2, 3)
    assert original_totals.original_rate([[1], [-1], [0]], 0.8) == OriginalRate(1, 3)

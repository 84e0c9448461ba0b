"""Totals with the denominators of the original code."""

from __future__ import annotations

import pytest

from ragbed.interop.exports import original_code
from ragbed.interop.exports.original_code import OriginalRate
from tests.golden.facts import read_facts


def test_every_golden_total_is_reproduced() -> None:
    lines = list(read_facts("scores"))
    assert len(lines) == 36
    for line in lines:
        rate = original_code.original_rate(line["labels"], line["noise"])
        given = {"all_rate": rate.value, "noise_rate": line["noise"], "tt": rate.hits, "nums": rate.of}
        if "fact" in line["file"]:
            detection = original_code.original_detection(line["factlabels"])
            correction = original_code.original_correction(line["labels"], line["factlabels"])
            given |= {"fact_check_rate": detection.value, "fact_tt": detection.hits}
            given |= {"correct_rate": correction.value or 0, "correct_tt": correction.hits}
        assert given == line["scores"], (line["file"], line["mix"], line["noise"])


@pytest.mark.parametrize(
    ("labels", "flags", "rate"),
    [
        ([[1], [0], [-1]], [True, True, True], OriginalRate(2, 3)),  # a refusal counts as a correction
        ([[1, 1], [1, 0]], [True, False], OriginalRate(1, 1)),  # the denominator is the number of flags
        ([[1]], [False], OriginalRate(0, 0)),
    ],
)
def test_the_original_code_counts_a_refusal_as_a_correction(
    labels: list[list[int]], flags: list[bool], rate: OriginalRate
) -> None:
    assert original_code.original_correction(labels, flags) == rate


def test_no_labels_have_no_rate() -> None:
    assert original_code.original_rate([], 1).value is None
    assert original_code.original_detection([]).value is None


def test_at_noise_1_the_original_code_adds_correct_answers_to_refusals() -> None:
    assert original_code.original_rate([[1], [-1], [0]], 1) == OriginalRate(2, 3)
    assert original_code.original_rate([[1], [-1], [0]], 0.8) == OriginalRate(1, 3)

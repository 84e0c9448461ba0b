"""A stated confidence is read strictly, in both languages."""

from __future__ import annotations

import pytest

from ragbed.testbeds.prompts.stated_confidence import parse_confidence, strip_confidence


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Confidence: 85%", 0.85),
        ("confidence: 85 %", 0.85),
        ("**Confidence:** 100%", 1.0),
        ("Confidence: 0%.", 0.0),
        ("Confidence: 12.5%", 0.125),
        ("置信度：85%", 0.85),
        ("置信度：８５％", 0.85),
        ("Confidence: 110%", "out-of-range"),
        ("Confidence: -5%", "out-of-range"),
        ("Confidence: very sure", "not-a-percentage"),
        ("Confidence: 0.85", "not-a-percentage"),
        ("Confidence: 85", "not-a-percentage"),
        ("Confidence: 80-90%", "not-a-percentage"),
        ("Confidence: 85% or 90%", "not-a-percentage"),
        ("置信度：非常确定", "not-a-percentage"),
        ("Confidence:", "not-a-percentage"),
    ],
)
def test_every_form_has_one_meaning(line: str, expected: float | str) -> None:
    assert parse_confidence(f"Ann won.\n{line}\n") == (
        pytest.approx(expected) if expected.__class__ is float else expected
    )
    assert strip_confidence(f"Ann won.\n{line}\n") == "Ann won."


@pytest.mark.parametrize("reply", ["Ann won.", "", "Confidence: 85%\nAnn won.", "My confidence is 85%."])
def test_a_response_without_the_line_has_no_confidence(reply: str) -> None:
    assert parse_confidence(reply) == "missing"
    assert strip_confidence(reply) == reply


def test_a_long_response_is_read_in_linear_time() -> None:
    assert parse_confidence("\n* " * 200_000 + "\nConfidence: 85%") == 0.85

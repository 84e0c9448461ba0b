"""The recorded verdicts on all labelled responses, and the scorer's version."""

from __future__ import annotations

import json

import pytest

from scripts.record.recordings import recordings
from scripts.record.verdicts import hash_sample, version_problem


def test_verdicts_of_a_sample_are_those_that_have_been_recorded() -> None:
    recorded = dict(json.loads(line) for line in recordings()["verdicts"].read().splitlines())
    problem = "run `python -m scripts.record verdicts`"
    assert hash_sample() == {lang: recorded[lang]["sample"] for lang in ("en", "zh")}, problem


@pytest.mark.slow
def test_verdicts_are_those_that_have_been_recorded() -> None:
    recordings()["verdicts"].check()


@pytest.mark.parametrize(
    ("version", "verdict", "problem"),
    [(1, "a", None), (2, "b", None), (1, "b", "a verdict has changed"), (2, "a", "no verdict has changed")],
)
def test_the_scorers_version_is_raised_exactly_if_a_verdict_changes(
    version: int, verdict: str, problem: str | None
) -> None:
    old, new = (
        {"version": number, "en": {"sha256": "a"}, "zh": {"sha256": value}}
        for number, value in ((1, "a"), (version, verdict))
    )
    assert (version_problem(old, new) or "None").startswith(str(problem))

"""Validation of a judge: agreement with labels, and corrected rates."""

from __future__ import annotations

import math
import random
import re
from statistics import fmean

import pytest
from msgspec import structs

from ragbed.analysis.judging.criteria import Verdict
from ragbed.analysis.judging.labels import AgreedLabel
from ragbed.analysis.judging.rates import JudgedResult, correct_rates, validate_judge
from ragbed.analysis.statistics.rates import UNDEFINED, Interval
from ragbed.runs.condition import Condition

CELL = Condition("m", "data", "en", "rejection", 1.0, 0.0, 5, "related", "robust")
ASKED = 400


def _world(seed: int, *, enriched: bool) -> tuple[list[JudgedResult], float]:
    """Return responses with a known rate, a judge with known errors, and labels, enriched where a rule disagrees."""
    chance = random.Random(seed)
    judged, truths = [], []
    for number in range(ASKED):
        truth = chance.random() < 0.4
        verdict = truth if chance.random() < 0.85 else chance.random() < 0.9
        disputed = verdict != (truth if chance.random() < 0.8 else not truth)
        probability = 0.8 if enriched and disputed else 0.2
        said = AgreedLabel(truth, probability) if chance.random() < probability else None
        judged.append(JudgedResult(CELL, ("data", str(number)), verdict, said))
        truths.append(truth)
    return judged, fmean(truths)


def _corrected(judged: list[JudgedResult]) -> Interval:
    (rate,) = correct_rates(judged)
    return rate.corrected


def test_a_corrected_rate_is_right_for_enriched_labels() -> None:
    errors, covered = [], 0
    for seed in range(60):
        judged, truth = _world(seed, enriched=True)
        rate = _corrected(judged)
        errors.append(rate.value - truth)
        covered += rate.low <= truth <= rate.high
    assert abs(fmean(errors)) < 0.015
    assert covered >= 54
    # The uncorrected judge is off by far, so the correction did something.
    assert fmean(one.verdict is True for one in judged) - truth > 0.04


def test_a_condition_without_labels_is_not_corrected() -> None:
    assert not [*correct_rates(JudgedResult(CELL, ("data", str(number)), True, None) for number in range(9))]


def test_a_missing_verdict_counts_as_no_and_labels_correct_it() -> None:
    said = AgreedLabel(value=True, probability=None)
    judged = [JudgedResult(CELL, ("data", str(number)), "unparsed", said) for number in range(30)]
    assert _corrected(judged).value == 1.0


def test_a_validation_is_made_by_language_and_counts_undecided_responses() -> None:
    judged = []
    for number in range(40):
        truth = number % 2 == 0
        lang = "en" if number < 20 else "zh"
        verdict: Verdict = "unparsed" if number == 0 else truth if number != 1 else not truth
        condition = structs.replace(CELL, lang=lang)
        judged.append(JudgedResult(condition, ("data", str(number)), verdict, AgreedLabel(truth, None)))
    english, chinese = validate_judge(judged)
    assert (english["lang"], english["n"], english["undecided"]) == ("en", 19, 1)
    assert math.isclose(english["agreed"][0], 18 / 19)
    assert (chinese["kappa"][0], chinese["distrust"]) == (1.0, "only 20 labels, but at least 150 are required")


@pytest.mark.parametrize(
    ("n", "wrong", "yes", "reason"),
    [
        (2, 0, 1, "only 2 labels, but at least 150 are required"),
        (149, 0, 70, "only 149 labels, but at least 150 are required"),
        (150, 0, 75, None),
        (400, 8, 200, None),
        (200, 12, 100, r"the lower bound of kappa is 0\.\d\d, below 0.8"),  # kappa itself is 0.88
        (200, 0, 200, "kappa is undefined because all labels are equal"),
    ],
)
def test_a_judge_is_trusted_by_the_lower_bound_of_kappa_and_enough_labels(
    n: int, wrong: int, yes: int, reason: str | None
) -> None:
    judged = []
    for number in range(n):
        truth = number < yes
        verdict = truth != (number % (n // wrong) == 0 if wrong else False)
        label = AgreedLabel(truth, None, frozenset({"anna", "ben"}))
        judged.append(JudgedResult(CELL, ("data", str(number)), verdict, label))
    (validation,) = validate_judge(judged)
    assert (validation["raters"], validation["trusted"]) == (2, reason is None)
    if reason is None:
        assert validation["distrust"] is None
    else:
        assert re.fullmatch(reason, validation["distrust"])


def test_missing_responses_count_as_no() -> None:
    """Half of the calls failed, and all labels are yes: the rate over all attempted cases is one half."""
    said = AgreedLabel(value=True, probability=0.5)
    judged = [
        JudgedResult(CELL, ("data", str(number)), True, said if number % 2 else None) for number in range(100)
    ] + [JudgedResult(CELL, ("data", str(number)), "error", None, is_settled=True) for number in range(100, 200)]
    rate = _corrected(judged)
    assert rate.low < 0.5 < rate.high < 0.65
    assert abs(rate.value - 0.5) < 0.02


def test_conditions_are_pooled_and_few_labels_give_no_estimate() -> None:
    """With ten labels, `judge` printed "corrected 100.0 [44.1, 100.0]" for a condition where the judge says 68.1."""

    def judged(labels: int) -> list[JudgedResult]:
        conditions = [structs.replace(CELL, noise=noise) for noise in (0.0, 0.4, 0.8)]
        said = AgreedLabel(value=True, probability=None)
        return [
            JudgedResult(
                conditions[number % 3], ("data", str(number)), number % 3 > 0, said if number < labels else None
            )
            for number in range(90)
        ]

    (few,) = correct_rates(judged(10))
    assert (few.n, few.labels, few.questions, few.corrected) == (90, 10, 10, UNDEFINED)
    assert few.plain.value == pytest.approx(2 / 3)
    assert _corrected(judged(30)).value == pytest.approx(1.0)

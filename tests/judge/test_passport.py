"""A judge against people: agreement, and a rate that its errors no longer bend."""

from __future__ import annotations

import math
import random
from statistics import fmean

from ragbed.judge.labels import Said
from ragbed.judge.passport import Judged, correct_rates, passports
from ragbed.judge.verdict import Verdict

CELL = ("m", "data", "en", "rejection", 1.0)
ASKED = 400


def _world(seed: int, *, enriched: bool) -> tuple[list[Judged], float]:
    """Replies of a known rate, a judge with known errors, and labels, more where a rule disagrees with it."""
    chance = random.Random(seed)
    judged, truths = [], []
    for number in range(ASKED):
        truth = chance.random() < 0.4
        verdict = truth if chance.random() < 0.85 else chance.random() < 0.9
        disputed = verdict != (truth if chance.random() < 0.8 else not truth)
        probability = 0.8 if enriched and disputed else 0.2
        said = Said(truth, probability) if chance.random() < probability else None
        judged.append(Judged(CELL, ("data", str(number)), verdict, said))
        truths.append(truth)
    return judged, fmean(truths)


def test_a_corrected_rate_is_right_also_where_labels_were_enriched() -> None:
    errors, covered = [], 0
    for seed in range(60):
        judged, truth = _world(seed, enriched=True)
        (rate,) = correct_rates(judged).values()
        errors.append(rate.corrected.rate.value - truth)
        covered += rate.corrected.rate.low <= truth <= rate.corrected.rate.high
    assert abs(fmean(errors)) < 0.015
    assert covered >= 54
    # The uncorrected judge is off by far, so the correction did something.
    assert fmean(one.as_number for one in judged) - truth > 0.04


def test_the_check_agrees_where_labels_were_drawn_evenly() -> None:
    checks = []
    for seed in range(30):
        judged, truth = _world(seed, enriched=False)
        (rate,) = correct_rates(judged).values()
        checks.append(rate.check - truth)
    assert abs(fmean(checks)) < 0.02


def test_a_condition_without_labels_is_not_corrected() -> None:
    assert correct_rates([Judged(CELL, ("data", str(number)), True, None) for number in range(9)]) == {}


def test_a_verdict_that_is_missing_is_no_yes_and_people_make_up_for_it() -> None:
    said = Said(value=True, probability=None)
    judged = [Judged(CELL, ("data", str(number)), "unparsed", said) for number in range(20)]
    (rate,) = correct_rates(judged).values()
    assert rate.corrected.rate.value == 1.0
    assert math.isnan(rate.check)


def test_a_passport_is_made_by_language_and_counts_what_was_undecided() -> None:
    judged = []
    for number in range(40):
        truth = number % 2 == 0
        lang = "en" if number < 20 else "zh"
        verdict: Verdict = "unparsed" if number == 0 else truth if number != 1 else not truth
        condition = ("m", "data", lang, "rejection", 1.0)
        judged.append(Judged(condition, ("data", str(number)), verdict, Said(truth, None)))
    english, chinese = passports("j", "refusal", judged)
    assert (english.lang, english.agreement.n, english.undecided) == ("en", 19, 1)
    assert math.isclose(english.agreement.agreed.value, 18 / 19)
    assert (chinese.agreement.kappa.value, chinese.is_trusted) == (1.0, True)

"""Agreement of a judge with labels, and rates corrected by labels: by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragbed.analysis.statistics.labels import agreement, prediction_powered
from ragbed.analysis.statistics.rates import Interval, clustered_wilson, wilson


def _raters(both_yes: int, people_yes: int, judge_yes: int, both_no: int) -> tuple[list[int], list[int]]:
    judged = [1] * both_yes + [0] * people_yes + [1] * judge_yes + [0] * both_no
    labels = [1] * both_yes + [1] * people_yes + [0] * judge_yes + [0] * both_no
    return judged, labels


def _rate(hits: int, n: int) -> Interval:
    return clustered_wilson([1] * hits + [0] * (n - hits), [1] * n)


def test_raters_who_always_agree_have_a_lower_bound() -> None:
    found = agreement(*_raters(75, 0, 0, 75), range(150))
    assert found.kappa.value == found.kappa.high == 1.0
    assert found.kappa.low == pytest.approx(1 - 2 * (1 - _rate(150, 150).low))


def test_kappa_is_undefined_if_all_labels_are_equal() -> None:
    assert math.isnan(agreement(*_raters(9, 0, 0, 0), range(9)).kappa.low)


def test_kappa_sensitivity_and_specificity_by_hand() -> None:
    found = agreement(*_raters(20, 5, 10, 15), range(50))
    assert found.n == 50
    assert found.agreed == pytest.approx(_rate(35, 50))
    assert found.kappa.value == pytest.approx(0.4)
    assert found.sensitivity == pytest.approx(_rate(20, 25))
    assert found.specificity == pytest.approx(_rate(15, 25))
    assert found.kappa.low < 0.4 < found.kappa.high


def test_without_a_positive_there_is_no_sensitivity() -> None:
    assert agreement([0, 1, 0], [0, 0, 0], [0, 1, 2]).sensitivity is None


def test_responses_to_one_question_count_as_one_cluster() -> None:
    judged, labels = _raters(20, 5, 10, 15)
    copied = agreement(judged * 4, labels * 4, [*range(50)] * 4)
    once = agreement(judged, labels, range(50))
    assert copied.kappa == pytest.approx(once.kappa)
    assert copied.agreed[1:] == pytest.approx(once.agreed[1:], abs=0.005)


def test_raters_who_never_agree_have_an_upper_bound() -> None:
    found = agreement(*_raters(0, 0, 20, 0), range(20))
    high = _rate(0, 20).high
    assert found.kappa == pytest.approx((0.0, 0.0, high))


def _world(rng: np.random.Generator, share: float = 0.4, n: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """Return the truth, and a judge with a sensitivity of 85 % and a false-alarm rate of 12 %."""
    truth = (rng.random(n) < share).astype(float)
    return truth, np.where(truth == 1, rng.random(n) < 0.85, rng.random(n) < 0.12).astype(float)


def test_with_equal_probabilities_and_full_power_it_is_the_plain_formula() -> None:
    truth, judged = _world(np.random.default_rng(0))
    labels = np.full(2_000, np.nan)
    labels[:200] = truth[:200]
    corrected = prediction_powered(judged, labels, range(2_000))
    by_hand = corrected.power * judged.mean() + (truth[:200] - corrected.power * judged[:200]).mean()
    assert corrected.rate.value == pytest.approx(by_hand)
    assert 0 < corrected.power <= 1
    assert (
        corrected.rate.high - corrected.rate.low
        < wilson(truth[:200].sum(), 200).high - wilson(truth[:200].sum(), 200).low
    )


def test_a_random_judge_has_zero_power() -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random(2_000) < 0.4).astype(float)
    labels = np.where(np.arange(2_000) < 300, truth, np.nan)
    corrected = prediction_powered(rng.random(2_000) < 0.5, labels, range(2_000))
    assert corrected.power < 0.2
    assert corrected.rate[1:] == pytest.approx(wilson(truth[:300].sum(), 300)[1:], abs=0.02)


def test_copies_of_a_question_do_not_narrow_a_correction() -> None:
    truth, judged = _world(np.random.default_rng(4), n=400)
    labels = np.where(np.arange(400) < 100, truth, np.nan)
    once = prediction_powered(judged, labels, range(400)).rate
    copied = prediction_powered(np.tile(judged, 5), np.tile(labels, 5), [*range(400)] * 5).rate
    assert copied.value == pytest.approx(once.value)
    assert copied.high - copied.low >= 0.97 * (once.high - once.low)


def test_a_perfect_judge_has_an_interval() -> None:
    truth = np.array([1.0, 0.0] * 500)
    labels = np.where(np.arange(1_000) < 100, truth, np.nan)
    rate = prediction_powered(truth, labels, range(1_000)).rate
    assert rate.value == pytest.approx(0.5)
    assert 0.02 < rate.high - rate.low < 0.08

"""Corrected rates: by hand and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.analysis.statistics.labels import prediction_powered
from ragbed.analysis.statistics.rates import wilson


def _world(rng: np.random.Generator, share: float = 0.4, n: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """Return the truth, and a judge with a sensitivity of 85 % and a false-alarm rate of 12 %."""
    truth = (rng.random(n) < share).astype(float)
    return truth, np.where(truth == 1, rng.random(n) < 0.85, rng.random(n) < 0.12).astype(float)


def test_with_equal_probabilities_and_full_power_it_is_the_plain_formula() -> None:
    rng = np.random.default_rng(0)
    truth, judged = _world(rng)
    labels = np.full(2_000, np.nan)
    labels[:200] = truth[:200]
    corrected = prediction_powered(judged, labels, range(2_000))
    by_hand = corrected.power * judged.mean() + (truth[:200] - corrected.power * judged[:200]).mean()
    assert corrected.rate.value == pytest.approx(by_hand)
    assert corrected.labelled == 200
    assert 0 < corrected.power <= 1
    assert (
        corrected.rate.high - corrected.rate.low
        < wilson(truth[:200].sum(), 200).high - wilson(truth[:200].sum(), 200).low
    )


def test_enriched_labels_need_weights() -> None:
    # Two scorers disagree more often where the answer is wrong; disagreements are labelled six times as often.
    rng = np.random.default_rng(1)
    plain, weighted, covered, runs = [], [], 0, 150
    for _ in range(runs):
        truth, judged = _world(rng)
        disagree = rng.random(2_000) < np.where(truth == 1, 0.1, 0.3)
        inclusion = np.where(disagree, 0.30, 0.05)
        labels = np.where(rng.random(2_000) < inclusion, truth, np.nan)
        plain.append(prediction_powered(judged, labels, range(2_000)).rate.value)
        corrected = prediction_powered(judged, labels, range(2_000), inclusion).rate
        weighted.append(corrected.value)
        covered += corrected.low <= 0.4 <= corrected.high
    assert np.mean(plain) < 0.385
    assert np.mean(weighted) == pytest.approx(0.4, abs=0.006)
    assert covered / runs >= 0.90


def test_a_random_judge_has_zero_power() -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random(2_000) < 0.4).astype(float)
    labels = np.where(np.arange(2_000) < 300, truth, np.nan)
    corrected = prediction_powered(rng.random(2_000) < 0.5, labels, range(2_000))
    assert corrected.power < 0.2
    assert corrected.rate[1:] == pytest.approx(wilson(truth[:300].sum(), 300)[1:], abs=0.02)


def test_copies_of_a_question_do_not_narrow_a_correction() -> None:
    rng = np.random.default_rng(4)
    truth, judged = _world(rng, n=400)
    labels = np.where(np.arange(400) < 100, truth, np.nan)
    once = prediction_powered(judged, labels, range(400)).rate
    copied = prediction_powered(np.tile(judged, 5), np.tile(labels, 5), [*range(400)] * 5).rate
    assert copied.value == pytest.approx(once.value)
    assert copied.high - copied.low >= 0.97 * (once.high - once.low)


def test_labels_of_one_question_are_not_enough() -> None:
    with pytest.raises(ValueError, match="at least two questions"):
        prediction_powered([1, 0, 1], [1, np.nan, np.nan], [0, 1, 2])


def test_a_perfect_judge_has_an_interval() -> None:
    truth = np.array([1.0, 0.0] * 500)
    labels = np.where(np.arange(1_000) < 100, truth, np.nan)
    rate = prediction_powered(truth, labels, range(1_000)).rate
    assert rate.value == pytest.approx(0.5)
    assert 0.02 < rate.high - rate.low < 0.08

"""Risk and coverage of answers with a confidence."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.analysis.statistics.curves import ConfidentAnswers
from ragbed.analysis.statistics.rates import clopper_pearson


@pytest.mark.parametrize(("right", "value"), [(1.0, 0.0), (0.0, 1.0)])
def test_the_area_has_an_interval_if_all_answers_are_right_or_wrong(right: float, value: float) -> None:
    """It used to have none, so a gate on it could not be decided."""
    area = ConfidentAnswers.of(np.linspace(0, 1, 40), [right] * 40, np.arange(40), 40).area()
    exact = clopper_pearson(40 * value, 40)
    assert area.value == value
    assert area.low <= exact.low
    assert area.high >= exact.high


def test_answers_to_one_question_are_one_observation() -> None:
    rng = np.random.default_rng(0)
    confidence, right = rng.random(60), rng.random(60) < 0.7
    alone = ConfidentAnswers.of(confidence, right, np.arange(60), 60).area()
    copied = ConfidentAnswers.of(np.repeat(confidence, 3), np.repeat(right, 3), np.repeat(np.arange(60), 3), 180).area()
    assert copied == pytest.approx(alone)

"""Risk, coverage and Brier scores of answers with a confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragbed.analysis.statistics.selective import ConfidentAnswers


@pytest.mark.parametrize(("confidence", "questions"), [(0.7, 30), (0.9, 77), (0.1, 100)])
def test_equal_answers_have_no_interval(confidence: float, questions: int) -> None:
    answers = ConfidentAnswers.of([confidence] * questions, [1.0] * questions, np.arange(questions), questions)
    score = answers.brier()
    assert score.value == pytest.approx((1 - confidence) ** 2)
    assert math.isnan(score.low)
    assert math.isnan(score.high)

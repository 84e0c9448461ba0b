"""Slopes along a scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ragbed.analysis.statistics.trend import clustered_slope


def test_between_two_points_the_slope_is_the_paired_difference() -> None:
    differences = np.array([-1.0] * 20 + [1.0] * 5 + [0.0] * 75)
    before = np.where(differences < 0, 1.0, 0.0)
    scores = np.concatenate([before, before + differences])
    trend = clustered_slope([0.0] * 100 + [0.5] * 100, scores, [*range(100), *range(100)])
    assert trend.slope.value == pytest.approx(differences.mean() / 0.5)
    reach = stats.t.ppf(0.975, 99) * differences.std(ddof=1) / math.sqrt(100) / 0.5
    assert trend.slope.high - trend.slope.value == pytest.approx(reach, rel=1e-4)
    assert trend.falls < 0.01


def test_a_scale_of_one_point_has_no_slope() -> None:
    assert math.isnan(clustered_slope([0.2] * 10, [1] * 10, range(10)).slope.value)
    assert math.isnan(clustered_slope([0.2, 0.4], [1, 0], [0, 0]).falls)


def test_equal_slopes_have_no_interval() -> None:
    trend = clustered_slope([0, 0.3, 0.7] * 5, [1, 0.7, 0.3] * 5, [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3)
    assert trend.slope.value == pytest.approx(-1)
    assert math.isnan(trend.slope.low)
    assert math.isnan(trend.falls)


def test_scores_that_never_change_have_no_trend_to_test() -> None:
    trend = clustered_slope([0.0, 0.2, 0.4, 0.6, 0.8] * 60, [1.0] * 300, [number // 5 for number in range(300)])
    assert trend.slope.value == 0
    assert math.isnan(trend.falls)


@pytest.mark.parametrize("right", [1, 50, 90])
def test_questions_whose_scores_never_change_have_no_trend_to_test(right: int) -> None:
    scores = [float(number < right) for number in range(100) for _ in range(5)]
    trend = clustered_slope([0.0, 0.2, 0.4, 0.6, 0.8] * 100, scores, [number // 5 for number in range(500)])
    assert trend.slope.value == 0
    assert math.isnan(trend.slope.low)
    assert math.isnan(trend.falls)

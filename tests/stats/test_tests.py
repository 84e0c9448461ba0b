"""Unpaired tests, adjustments and trends: against references and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ragbed.stats.multiple import benjamini_hochberg, holm
from ragbed.stats.trend import clustered_slope
from ragbed.stats.unpaired import fisher, two_proportions


@pytest.mark.parametrize("counts", [(96, 100, 88, 100), (3, 10, 9, 12), (0, 5, 5, 5), (7, 7, 7, 7)])
def test_fisher_agrees_with_the_reference(counts: tuple[int, int, int, int]) -> None:
    first, n, second, m = counts
    assert fisher(*counts) == pytest.approx(stats.fisher_exact([[first, n - first], [second, m - second]]).pvalue)


def test_z_is_the_chi_square_test_without_correction() -> None:
    reference = stats.chi2_contingency([[289, 11], [270, 30]], correction=False).pvalue
    assert two_proportions(289, 300, 270, 300) == pytest.approx(reference)
    assert two_proportions(5, 5, 7, 7) == 1.0


def test_holm_multiplies_by_the_tests_that_are_left_and_never_decreases() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])
    assert len(holm([])) == 0


def test_benjamini_hochberg_agrees_with_the_reference() -> None:
    values = np.random.default_rng(0).uniform(size=50) ** 3
    assert benjamini_hochberg(values) == pytest.approx(stats.false_discovery_control(values))


def test_between_two_points_the_slope_is_the_paired_difference() -> None:
    differences = np.array([-1.0] * 20 + [1.0] * 5 + [0.0] * 75)
    before = np.where(differences < 0, 1.0, 0.0)
    scores = np.concatenate([before, before + differences])
    trend = clustered_slope([0.0] * 100 + [0.5] * 100, scores, [*range(100), *range(100)])
    assert trend.slope.value == pytest.approx(differences.mean() / 0.5)
    reach = 1.959964 * differences.std(ddof=1) / math.sqrt(100) / 0.5
    assert trend.slope.high - trend.slope.value == pytest.approx(reach)
    assert trend.falls < 0.01


def test_a_scale_of_one_point_has_no_slope() -> None:
    assert math.isnan(clustered_slope([0.2] * 10, [1] * 10, range(10)).slope.value)
    assert math.isnan(clustered_slope([0.2, 0.4], [1, 0], [0, 0]).falls)


def test_questions_that_all_move_alike_have_a_slope_without_bounds() -> None:
    trend = clustered_slope([0, 0.3, 0.7] * 5, [1, 0.7, 0.3] * 5, [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3)
    assert trend.slope.value == pytest.approx(-1)
    assert math.isnan(trend.slope.low)
    assert math.isnan(trend.falls)

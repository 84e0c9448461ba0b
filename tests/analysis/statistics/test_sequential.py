"""Confidence sequences: coverage at every moment, clusters of different sizes, p-values."""

from __future__ import annotations

import numpy as np
import pytest

from benches.sequential import _paired, scenarios, simulate
from ragbed.analysis.statistics.rates import wilson
from ragbed.analysis.statistics.sequential import (
    decline_p,
    difference_p,
    difference_sequence,
    rate_sequence,
)


@pytest.mark.parametrize("number", [2, 5, 9])
def test_no_moment_of_a_run_excludes_the_true_value_too_often(number: int) -> None:
    errors, _, _ = simulate(list(scenarios())[number]._replace(plan=200), 300, 0)
    assert errors <= 0.05


def test_large_drops_are_found_with_a_fraction_of_the_calls() -> None:
    for times, least in ((2, 0.5), (4, 0.8)):
        errors, saved, _ = simulate(_paired(0.1, 0.4, times), 300, 1)
        assert errors <= 0.05
        assert saved is not None
        assert saved >= least


def test_the_interval_shrinks_around_the_rate_and_is_wider_than_an_ordinary_one() -> None:
    widths = []
    for n in (10, 100, 1_000, 10_000):
        interval = rate_sequence([1] * (3 * n // 10) + [0] * (7 * n // 10), [1] * n)
        assert interval.value == pytest.approx(0.3)
        assert interval.low < interval.value < interval.high
        ordinary = wilson(0.3 * n, n)
        assert interval.high - interval.low > ordinary.high - ordinary.low
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.05


def test_bets_are_scaled_by_the_largest_planned_cluster() -> None:
    """Otherwise, the wealth after earlier clusters would change when a larger one is evaluated."""
    early, late = [1, 0] * 20, [*[1, 0] * 20, 8]
    unplanned = rate_sequence(early, [1] * 40)
    planned = rate_sequence(early, [1] * 40, largest=10)
    assert planned.high - planned.low > unplanned.high - unplanned.low
    assert rate_sequence(late, [1] * 40 + [10], largest=10) == rate_sequence(late, [1] * 40 + [10])


def test_bounds_are_symmetric_and_inside_the_range() -> None:
    low, high = rate_sequence([1, 0, 1, 1], [1, 1, 1, 1])[1:]
    other_low, other_high = rate_sequence([0, 1, 0, 0], [1, 1, 1, 1])[1:]
    assert (low, high) == pytest.approx((1 - other_high, 1 - other_low))
    assert 0 <= low < high <= 1
    assert np.isnan(rate_sequence([], []).value)


def test_p_values_agree_with_the_interval() -> None:
    moved = [-1] * 20 + [0] * 80
    interval = difference_sequence(moved)
    assert interval.value == pytest.approx(-0.2)
    assert (difference_p(moved) < 0.05) == (interval.high < 0)
    assert (decline_p(moved, 0.03) < 0.05) == (interval.high < -0.03)
    assert decline_p([0] * 50, 0.03) == 1.0
    assert difference_p([1] * 20) == pytest.approx(difference_p([-1] * 20))

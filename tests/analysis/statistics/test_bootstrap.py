"""The clustered bootstrap: against a reference, and its coverage."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.bootstrap import bootstrap
from ragbed.analysis.statistics.rates import Interval, wilson
from tests.analysis.statistics.coverage import coverage, has_room


def _rate(totals: Floats) -> Floats:
    return totals[..., :1] / totals[..., 1:2]


def test_it_agrees_with_the_reference_on_a_skewed_mean() -> None:
    rows = np.random.default_rng(1).exponential(size=80)
    (ours,) = bootstrap(np.column_stack([rows, np.ones(80)]), _rate, replicates=20_000)
    theirs = stats.bootstrap((rows,), np.mean, n_resamples=20_000, method="BCa", rng=0).confidence_interval
    assert ours.value == pytest.approx(rows.mean())
    assert ours[1:] == pytest.approx(theirs, abs=0.01)


def test_questions_are_resampled_and_not_trials() -> None:
    once = np.column_stack([[1] * 60 + [0] * 140, [1] * 200])
    copied = bootstrap(5 * once, _rate)
    assert copied == bootstrap(once, _rate)


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = np.column_stack([np.sqrt(np.arange(30)), np.full(30, 6)])
    assert bootstrap(rows, _rate, seed=7) == bootstrap(rows, _rate, seed=7)
    assert bootstrap(rows, _rate, seed=7) != bootstrap(rows, _rate, seed=8)


def test_constant_data_have_no_bounds() -> None:
    (interval,) = bootstrap(np.ones((20, 2)), _rate)
    assert interval.value == 1
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_resamples_without_a_value_are_left_out_without_a_warning() -> None:
    rows = np.array([[1, 1], [0, 1], [0, 0], [0, 0], [0, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (interval,) = bootstrap(rows, _rate)
    assert interval.value == 0.5
    assert 0 <= interval.low <= 0.5 <= interval.high <= 1


@pytest.mark.parametrize("n", [100, 300])
def test_the_bootstrap_has_its_nominal_coverage(n: int) -> None:
    # Of the ends, where it has no bounds, Wilson's interval is used, as everywhere.
    inner = [bootstrap([[1, 1]] * hits + [[0, 1]] * (n - hits), _rate)[0] for hits in range(1, n)]
    intervals: list[Interval] = [wilson(0, n), *inner, wilson(n, n)]
    covered = coverage(intervals)
    assert 0.93 <= covered.mean() <= 0.97
    assert covered[has_room(n)].min() >= 0.90

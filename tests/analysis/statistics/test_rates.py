"""Intervals of a rate: published values, and coverage summed exactly over all outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ragbed.analysis.statistics.binomial import clopper_pearson, probabilities
from ragbed.analysis.statistics.rates import Interval, clustered_mean, clustered_wilson, trials_behind, wilson
from tests.analysis.statistics.coverage import coverage, has_room


@pytest.mark.parametrize(
    ("hits", "n", "wilson_bounds", "exact_bounds"),
    [  # Newcombe (1998), Table I
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_intervals_are_the_published_ones(
    hits: int, n: int, wilson_bounds: tuple[float, float], exact_bounds: tuple[float, float]
) -> None:
    assert wilson(hits, n)[1:] == pytest.approx(wilson_bounds, abs=6e-5)
    assert clopper_pearson(hits, n)[1:] == pytest.approx(exact_bounds, abs=6e-5)


@pytest.mark.parametrize("n", [100, 300])
def test_wilson_has_its_nominal_coverage(n: int) -> None:
    covered = coverage([wilson(hits, n) for hits in range(n + 1)])
    assert 0.93 <= covered.mean() <= 0.97
    assert covered[has_room(n)].min() >= 0.90


@pytest.mark.parametrize("n", [100, 300])
def test_clopper_pearson_has_at_least_its_nominal_coverage(n: int) -> None:
    assert coverage([clopper_pearson(hits, n) for hits in range(n + 1)]).min() >= 0.95


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_invalid_counts_raise_an_error(interval: Callable[[int, int], Interval], hits: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{hits} hits in {n} trials"):
        interval(hits, n)


def test_extreme_rates_have_exact_bounds() -> None:
    assert wilson(0, 37).low == 0.0
    assert wilson(37, 37).high == 1.0


def test_single_trials_give_the_plain_interval() -> None:
    assert clustered_wilson([1, 0, 1, 1], [1, 1, 1, 1]) == wilson(3, 4)


def test_copies_of_a_question_do_not_narrow_the_interval() -> None:
    once = wilson(30, 100)
    copied = clustered_wilson([5] * 30 + [0] * 70, [5] * 100)
    assert copied.value == 0.3
    assert copied[1:] == pytest.approx(once[1:], abs=0.002)


def test_independent_repeats_count_like_questions() -> None:
    rng = np.random.default_rng(0)
    hits = rng.binomial(5, 0.3, size=2_000)
    clustered = clustered_wilson(hits.tolist(), [5] * 2_000)
    assert clustered[1:] == pytest.approx(wilson(int(hits.sum()), 10_000)[1:], abs=0.001)


def test_equal_clusters_count_as_one_trial_each() -> None:
    assert clustered_wilson([5] * 10, [5] * 10) == Interval(1.0, *wilson(10, 10)[1:])


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (1, 20), (10, 20), (20, 20), (49.5, 60), (999, 1000)])
def test_trials_behind_a_wilson_interval_are_found(hits: float, n: float) -> None:
    assert trials_behind(wilson(hits, n)) == pytest.approx(n)


@pytest.mark.parametrize(
    "interval",
    [(0.4, 0.3, 0.5), (-0.1, -0.2, 0.1), (0.4, -0.2, 0.9), (0.4, math.nan, math.nan), (0.4, 0.4, 0.4), (0.9, 0.8, 1.0)],
)
def test_other_intervals_have_no_trials_behind_them(interval: tuple[float, float, float]) -> None:
    assert trials_behind(Interval(*interval)) is None


def test_probabilities_add_up() -> None:
    for share in (0.0, 0.01, 0.5, 1.0):
        assert math.fsum(probabilities(300, share)) == pytest.approx(1)


def test_trials_of_one_question_do_not_narrow_a_mean() -> None:
    alone = clustered_mean([1.0, 2.0, 4.0], [1, 1, 1])
    copied = clustered_mean([5.0, 10.0, 20.0], [5, 5, 5])
    assert copied == pytest.approx(alone)
    assert alone.value == pytest.approx(7 / 3)
    assert (alone.low, alone.high) == pytest.approx((7 / 3 - 1.7286, 7 / 3 + 1.7286), abs=1e-3)
    assert math.isnan(clustered_mean([3.0, 6.0], [1, 2]).low)

"""Intervals of a rate: published values, and coverage summed exactly over all outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy

from ragbed.analysis.statistics.rates import (
    Interval,
    clopper_pearson,
    clustered_wilson,
    combine_rates,
    ratio_interval,
    share_interval,
    student,
    trials_behind,
    wilson,
)
from ragbed.analysis.statistics.testing import probabilities


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


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_invalid_counts_raise_an_error(interval: Callable[[int, int], Interval], hits: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{hits} hits in {n} trials"):
        interval(hits, n)


def test_extreme_rates_have_exact_bounds() -> None:
    assert wilson(0, 37).low == 0.0
    assert wilson(37, 37).high == 1.0


@pytest.mark.parametrize("freedom", [1, 2, 3, 4.5, 5, 6.6, 19, 20, 300, 100_000])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.9975])
def test_students_quantile_is_that_of_the_reference(level: float, freedom: float) -> None:
    assert student(level, freedom) == pytest.approx(scipy.stats.t.ppf(0.5 + level / 2, freedom), rel=1e-9)


@pytest.mark.parametrize("n", [20, 21, 30, 50, 100, 300, 1_000])
def test_a_rate_of_single_trials_covers_93_per_cent_at_every_share(n: int) -> None:
    """The coverage used to be 85% at a share of 0.008 with 20 trials, because one hit gave too high a lower bound."""
    found = [clustered_wilson([1] * hits + [0] * (n - hits), [1] * n) for hits in range(n + 1)]
    rare = np.geomspace(1e-4, 0.05, 100)
    shares = np.concatenate([rare, np.arange(0.05, 0.951, 0.005), 1 - rare])
    low, high = (np.array([interval[bound] for interval in found]) for bound in (1, 2))
    covered = np.array([probabilities(n, share)[(low <= share) & (share <= high)].sum() for share in shares])
    assert covered.min() >= 0.93
    usual = np.minimum(shares, 1 - shares) >= 0.03
    assert 0.94 <= np.interp(np.arange(0.03, 0.971, 0.005), shares[usual], covered[usual]).mean() <= 0.97
    assert 0.94 <= covered[np.minimum(shares, 1 - shares) * n >= 5].mean() <= 0.97


@pytest.mark.parametrize("n", [1, 2, 20, 300])
def test_without_hits_or_misses_the_interval_is_at_least_as_wide_as_the_exact_one(n: int) -> None:
    assert clustered_wilson([0] * n, [1] * n).high >= clopper_pearson(0, n).high
    assert clustered_wilson([1] * n, [1] * n).low <= clopper_pearson(n, n).low


@pytest.mark.parametrize("each", [1, 5])
def test_one_more_question_with_hits_never_lowers_a_bound(each: int) -> None:
    found = [clustered_wilson([each] * hits + [0] * (40 - hits), [each] * 40) for hits in range(41)]
    for bound in (1, 2):
        bounds = [interval[bound] for interval in found]
        assert bounds == sorted(bounds)


def test_one_mixed_question_does_not_lower_the_upper_bound_of_no_hits() -> None:
    """With one hit in 100 trials, the bound used to be 15.3%, but 16.5% with none, so only the better model failed."""
    assert clustered_wilson([1] + [0] * 19, [5] * 20).high >= clustered_wilson([0] * 20, [5] * 20).high


def test_graded_scores_that_vary_less_than_verdicts_have_narrower_intervals() -> None:
    scores = [0.4, 0.6] * 50
    graded, verdicts = (clustered_wilson(scores, [1] * 100, is_graded=way) for way in (True, False))
    reach = student(0.95, 100) * 0.1 / 10
    assert (graded.low, graded.high) == pytest.approx((0.5 - reach, 0.5 + reach), rel=0.03)
    assert verdicts.high - verdicts.low > 4 * (graded.high - graded.low)
    equal = clustered_wilson([1] * 50, [2] * 50, is_graded=True)
    assert equal.high - equal.low > 0.02


def test_single_trials_give_wilsons_interval_with_students_quantile() -> None:
    quantile, n = scipy.stats.t.ppf(0.975, 100), 100
    middle, reach = 0.3 + quantile**2 / 200, quantile * math.sqrt(0.21 / n + quantile**2 / (4 * n**2))
    shrink = 1 + quantile**2 / n
    found = clustered_wilson([1] * 30 + [0] * 70, [1] * 100)
    assert found == pytest.approx((0.3, (middle - reach) / shrink, (middle + reach) / shrink), abs=1e-5)


def test_one_more_hit_does_not_change_the_width_much() -> None:
    """If all questions agree, their positions say nothing new; one that differs does not make them independent."""
    equal = clustered_wilson([5] * 30, [5] * 30)
    assert clustered_wilson([5] * 29 + [4], [5] * 30).low == pytest.approx(equal.low, abs=0.01)
    flat = clustered_wilson([1] * 30, [5] * 30)
    one_higher = clustered_wilson([1] * 29 + [2], [5] * 30)
    assert one_higher[1:] == pytest.approx(flat[1:], abs=0.01)
    assert one_higher.high - one_higher.low >= wilson(31, 150).high - wilson(31, 150).low


@pytest.mark.parametrize(
    ("hits", "trials"), [([1], [1]), ([0], [1]), ([3], [5]), ([5], [5]), ([1, 0], [1, 1]), ([2, 0], [2, 0])]
)
def test_very_few_clusters_have_a_wide_interval_inside_the_range(hits: list[int], trials: list[int]) -> None:
    value, low, high = clustered_wilson(hits, trials)
    assert 0 <= low <= value <= high <= 1
    assert high - low > 0.5


def test_copies_of_a_question_do_not_narrow_the_interval() -> None:
    once = clustered_wilson([1] * 30 + [0] * 70, [1] * 100)
    assert clustered_wilson([5] * 30 + [0] * 70, [5] * 100) == pytest.approx(once)


def test_independent_repeats_count_like_questions() -> None:
    hits = np.random.default_rng(0).binomial(5, 0.3, size=2_000)
    clustered = clustered_wilson(hits.tolist(), [5] * 2_000)
    assert clustered[1:] == pytest.approx(wilson(int(hits.sum()), 10_000)[1:], abs=0.002)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (1, 20), (10, 20), (49.5, 60), (999, 1000)])
def test_trials_behind_an_interval_are_found(hits: float, n: float) -> None:
    assert trials_behind(share_interval(hits / n, n, n), n) == pytest.approx(n)


def test_probabilities_add_up() -> None:
    for share in (0.0, 0.01, 0.5, 1.0):
        assert math.fsum(probabilities(300, share)) == pytest.approx(1)


def test_trials_of_one_question_do_not_narrow_a_mean() -> None:
    alone = ratio_interval([1.0, 2.0, 4.0], [1, 1, 1])
    assert ratio_interval([5.0, 10.0, 20.0], [5, 5, 5]) == pytest.approx(alone)
    assert alone.value == pytest.approx(7 / 3)
    # The kurtosis of three values is always 1.5, so the degrees of freedom are those of Student's interval.
    reach = scipy.stats.t.ppf(0.975, 2) * np.std([1, 2, 4], ddof=1) / np.sqrt(3) / (7 / 3)
    assert (alone.low, alone.high) == pytest.approx((7 / 3 * np.exp(-reach), 7 / 3 * np.exp(reach)), rel=1e-3)
    assert math.isnan(ratio_interval([3.0, 6.0], [1, 2]).low)


def test_a_mean_of_a_skewed_quantity_has_fewer_degrees_of_freedom() -> None:
    """The interval used to have n − 1 degrees of freedom, and covered the mean of log-normal values in 90.7%."""
    values = [1.0] * 24 + [3.0] * 5 + [5.0]
    found = ratio_interval(values, [1] * 30)
    freedom = 30 / (scipy.stats.kurtosis(values, fisher=False) - 1)
    error = np.std(values, ddof=1) / np.sqrt(30) / np.mean(values)
    assert 3 < freedom < 10
    assert found.high / found.value == pytest.approx(np.exp(scipy.stats.t.ppf(0.975, freedom) * error), rel=1e-3)


@pytest.mark.parametrize("n", [30, 100])
def test_a_mean_of_a_log_normal_quantity_is_covered(n: int) -> None:
    rng, runs = np.random.default_rng(0), 4_000
    found = [ratio_interval(np.exp(rng.standard_normal(n)).tolist(), [1] * n) for _ in range(runs)]
    assert float(np.mean([low <= np.exp(0.5) <= high for _, low, high in found])) >= 0.93


def test_the_interval_of_a_weighted_sum_is_that_of_newcombe_for_two_rates() -> None:
    first, second = Interval(0.7, 0.6, 0.79), Interval(0.5, 0.4, 0.6)
    value, low, high = combine_rates([first, second], [1.0, -1.0])
    assert value == pytest.approx(0.2)
    assert low == pytest.approx(0.2 - np.hypot(0.1, 0.1))
    assert high == pytest.approx(0.2 + np.hypot(0.09, 0.1))
    _, low, high = combine_rates([first, second], [1.0, -1.0], correlation=0.5)
    assert low == pytest.approx(0.2 - np.sqrt(0.1**2 + 0.1**2 - 0.1 * 0.1))
    assert high == pytest.approx(0.2 + np.sqrt(0.09**2 + 0.1**2 - 0.09 * 0.1))

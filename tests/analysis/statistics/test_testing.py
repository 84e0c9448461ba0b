"""One-sided bounds of a rate, the test of a minimum for bounded scores, and adjustments for many tests."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbed.analysis.statistics.testing import (
    ClusterSums,
    holm,
    positive_probability,
    trials_for_bound,
    upper_bound,
)


@pytest.mark.parametrize(
    ("hits", "n", "bound"),
    [(0, 59, 0.0495), (0, 58, 0.0503), (0, 298, 0.0100), (1, 93, 0.0500), (3, 10, 0.6066), (5, 5, 1.0)],
)
def test_the_bound_is_clopper_and_pearsons(hits: int, n: int, bound: float) -> None:
    assert upper_bound(hits, n) == pytest.approx(bound, abs=6e-5)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.9])
@pytest.mark.parametrize("hits", [0, 1, 4])
def test_the_number_of_trials_for_a_bound_is_minimal(hits: int, share: float) -> None:
    n = trials_for_bound(hits, share)
    assert upper_bound(hits, n) <= share
    assert n == hits + 1 or upper_bound(hits, n - 1) > share


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_invalid_counts_raise_an_error(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match="is not a valid rate"):
        upper_bound(hits, n)


@pytest.mark.parametrize(("hits", "n", "minimum"), [(0, 1, 0.5), (3, 20, 0.4), (11, 20, 0.6), (250, 300, 0.9)])
def test_single_verdicts_give_the_exact_binomial_test(hits: int, n: int, minimum: float) -> None:
    sums = ClusterSums.of([1.0] * hits + [0.0] * (n - hits), [1.0] * n)
    exact = scipy.stats.binomtest(hits, n, minimum, alternative="less").pvalue
    assert sums.below_p(minimum) == pytest.approx(exact, rel=1e-9)


def test_repeats_with_equal_answers_count_once() -> None:
    once, repeated = (ClusterSums.of([each] * 9 + [0.0] * 11, [each] * 20) for each in (1.0, 5.0))
    assert repeated.below_p(0.6) == pytest.approx(once.below_p(0.6), rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_probability_agrees_with_simulated_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors, counts = rng.normal(size=5) - 0.3, rng.integers(1, 6, size=5)
    runs = 200_000
    drawn = sum(factor * rng.gamma(count, size=runs) for factor, count in zip(factors, counts, strict=True))
    found = positive_probability(factors, counts)
    assert found == pytest.approx(float(np.mean(drawn >= 0)), abs=4 * np.sqrt(0.25 / runs))


@given(
    clusters=st.lists(st.lists(st.booleans(), min_size=1, max_size=8), min_size=1, max_size=40),
    minimum=st.floats(0.02, 0.98),
)
@settings(max_examples=150, deadline=None)
def test_another_right_trial_never_decreases_p(clusters: list[list[bool]], minimum: float) -> None:
    hits, sizes = ([float(f(row)) for row in clusters] for f in (sum, len))
    before = ClusterSums.of(hits, sizes).below_p(minimum)
    for item, row in enumerate(clusters):
        if not all(row):
            better = [*hits[:item], hits[item] + 1, *hits[item + 1 :]]
            assert ClusterSums.of(better, sizes).below_p(minimum) >= before - 1e-11


def test_holm_multiplies_by_the_tests_that_are_left_and_never_decreases() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])
    assert len(holm([])) == 0

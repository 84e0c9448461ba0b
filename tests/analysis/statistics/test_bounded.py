"""The test of a minimum for the mean of bounded scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ragbed.analysis.statistics.testing import ClusterSums, positive_probability


@pytest.mark.parametrize(("hits", "n", "minimum"), [(0, 1, 0.5), (3, 20, 0.4), (11, 20, 0.6), (250, 300, 0.9)])
def test_single_verdicts_give_the_exact_binomial_test(hits: int, n: int, minimum: float) -> None:
    sums = ClusterSums.of([1.0] * hits + [0.0] * (n - hits), [1.0] * n)
    exact = stats.binomtest(hits, n, minimum, alternative="less").pvalue
    assert sums.below_p(minimum) == pytest.approx(exact, rel=1e-9)


def test_repeats_with_equal_answers_count_once() -> None:
    once, repeated = (ClusterSums.of([each] * 9 + [0.0] * 11, [each] * 20) for each in (1.0, 5.0))
    assert repeated.below_p(0.6) == pytest.approx(once.below_p(0.6), rel=1e-9)


def test_repeats_with_different_answers_count_more_than_once() -> None:
    agree, differ = ClusterSums.of([5.0] * 9 + [0.0] * 11, [5.0] * 20), ClusterSums.of([2.25] * 20, [5.0] * 20)
    assert differ.below_p(0.6) < 0.2 * agree.below_p(0.6)


@pytest.mark.parametrize("seed", range(8))
def test_the_probability_agrees_with_simulated_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors, counts = rng.normal(size=5) - 0.3, rng.integers(1, 6, size=5)
    runs = 200_000
    drawn = sum(factor * rng.gamma(count, size=runs) for factor, count in zip(factors, counts, strict=True))
    found = positive_probability(factors, counts)
    assert found == pytest.approx(float(np.mean(drawn >= 0)), abs=4 * np.sqrt(0.25 / runs))


def test_the_integral_agrees_with_the_beta_probability() -> None:
    exact = positive_probability([0.4, -0.6], [3, 10])
    assert positive_probability([0.4, 0.4 + 1e-9, -0.6], [2, 1, 10]) == pytest.approx(exact, abs=1e-8)


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

"""One-sided bounds of a rate."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from ragbed.analysis.statistics.testing import lower_tail, probabilities, trials_for_bound, upper_bound


@pytest.mark.parametrize(
    ("hits", "n", "bound"),
    [(0, 59, 0.0495), (0, 58, 0.0503), (0, 298, 0.0100), (1, 93, 0.0500), (3, 10, 0.6066), (5, 5, 1.0)],
)
def test_the_bound_is_clopper_and_pearsons(hits: int, n: int, bound: float) -> None:
    assert upper_bound(hits, n) == pytest.approx(bound, abs=6e-5)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (2, 30), (7, 50)])
def test_the_bound_has_the_right_tail_probability(hits: int, n: int) -> None:
    bound = upper_bound(hits, n)
    assert binom.cdf(hits, n, bound) == pytest.approx(0.05)
    assert binom.cdf(hits, n, bound + 0.01) < 0.05


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.9])
@pytest.mark.parametrize("hits", [0, 1, 4])
def test_the_number_of_trials_for_a_bound_is_minimal(hits: int, share: float) -> None:
    n = trials_for_bound(hits, share)
    assert upper_bound(hits, n) <= share
    assert n == hits + 1 or upper_bound(hits, n - 1) > share


def test_published_sample_sizes_are_reproduced() -> None:
    assert [trials_for_bound(0, share) for share in (0.05, 0.01)] == [59, 299]


@pytest.mark.parametrize(("hits", "n", "share"), [(0, 20, 0.1), (45, 100, 0.55), (99, 100, 0.99), (99, 100, 1.0)])
def test_the_tail_is_the_sum_of_its_probabilities(hits: int, n: int, share: float) -> None:
    assert lower_tail(hits, n, share) == pytest.approx(probabilities(n, share)[: hits + 1].sum())
    assert lower_tail(hits, n, share) <= lower_tail(hits + 0.5, n, share) <= lower_tail(hits + 1, n, share) <= 1


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_invalid_counts_raise_an_error(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match="is not a valid rate"):
        upper_bound(hits, n)

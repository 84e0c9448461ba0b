"""Unpaired tests against references."""

from __future__ import annotations

import pytest
from scipy import stats

from ragbed.analysis.statistics.unpaired import fisher, two_proportions


@pytest.mark.parametrize("counts", [(96, 100, 88, 100), (3, 10, 9, 12), (0, 5, 5, 5), (7, 7, 7, 7)])
def test_fisher_agrees_with_the_reference(counts: tuple[int, int, int, int]) -> None:
    first, n, second, m = counts
    assert fisher(*counts) == pytest.approx(stats.fisher_exact([[first, n - first], [second, m - second]]).pvalue)


def test_z_is_the_chi_square_test_without_correction() -> None:
    reference = stats.chi2_contingency([[289, 11], [270, 30]], correction=False).pvalue
    assert two_proportions(289, 300, 270, 300) == pytest.approx(reference)
    assert two_proportions(5, 5, 7, 7) == 1.0

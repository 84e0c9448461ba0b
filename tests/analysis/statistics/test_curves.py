"""Bands of curves hold for all points together; risk and coverage of answers with a confidence."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.analysis.statistics.curves import clustered_bands
from ragbed.analysis.statistics.rates import clustered_wilson


def _band_widths(scores: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[float]:
    rows = np.column_stack([scores, np.ones_like(scores)])
    return [band.high - band.low for band in clustered_bands(rows)]


def test_equal_points_need_no_wider_bands_and_independent_ones_do() -> None:
    rng = np.random.default_rng(0)
    column = (rng.random((80, 1)) < 0.6).astype(float)
    single = clustered_wilson(column[:, 0].tolist(), [1] * 80)
    assert _band_widths(np.repeat(column, 5, axis=1)) == pytest.approx([single.high - single.low] * 5, rel=0.02)
    independent = _band_widths((rng.random((80, 5)) < 0.6).astype(float))
    assert min(independent) > 1.2 * (single.high - single.low)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_points_without_variation_have_bounds(score: float) -> None:
    for band in clustered_bands([[score, score, 1, 1]] * 20):
        assert band.value == score
        assert 0 <= band.low < band.high <= 1


def test_bands_do_not_depend_on_how_questions_are_ordered() -> None:
    # At each of four points, another question is answered. The points are equally correlated, so the eigenvectors of
    # the correlation matrix are not unique.
    kinds = [[*row, 1, 1, 1, 1] for row in np.vstack([np.eye(4), np.zeros(4)])]
    questions = kinds[:4] + [kinds[4]] * 16
    bands, other = (np.ravel(clustered_bands(rows)) for rows in (questions, questions[::-1]))
    assert other == pytest.approx(bands, abs=1e-12)

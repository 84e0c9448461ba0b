"""The two-parameter logistic model: what was put in comes out."""

from __future__ import annotations

import numpy as np

from ragbed.stats.irt import fit_2pl


def test_difficulty_and_discrimination_are_found_again() -> None:
    draw = np.random.default_rng(3)
    ability, a, b = draw.normal(size=100), np.exp(draw.normal(0, 0.5, 200)), draw.normal(size=200)
    right = (draw.random((100, 200)) < 1 / (1 + np.exp(-a * (ability[:, None] - b)))).astype(float)
    right[draw.random(right.shape) < 0.1] = np.nan  # not all were asked all
    found = fit_2pl(right)
    assert np.corrcoef(found.b, b)[0, 1] > 0.9
    assert np.corrcoef(np.log(found.a), np.log(a))[0, 1] > 0.5
    assert abs(np.median(found.a) - 1) < 0.25


def test_items_that_all_or_none_get_right_stay_finite() -> None:
    right = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    found = fit_2pl(right)
    assert np.isfinite(found.a).all()
    assert found.b[0] < found.b[2] < found.b[1]

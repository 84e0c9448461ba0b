"""The two-parameter logistic model recovers known parameters, even from a few models."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ragbed.analysis.statistics.irt import Numbers, fit_2pl


def replies(models: int, items: int, a: float, b: float, seed: int) -> Numbers:
    """Return answers of models with mean 0 and spread 1 to items around a and b."""
    draw = np.random.default_rng(seed)
    ability = draw.normal(size=models)
    ability = (ability - ability.mean()) / ability.std()
    sharp, hard = a * np.exp(draw.normal(0, 0.3, items)), b + draw.normal(0, 0.7, items)
    right: Numbers = (draw.random((models, items)) < 1 / (1 + np.exp(-sharp * (ability[:, None] - hard)))).astype(float)
    return right


@pytest.mark.parametrize(("a", "b"), list(product([0.4, 2.5], [-2.0, 0.0])))
def test_the_medians_are_those_of_the_items_and_not_of_a_prior(a: float, b: float) -> None:
    found = fit_2pl(replies(8, 400, a, b, seed=1))
    assert a / 1.4 < found.a.median < a * 1.4
    assert abs(found.b.median - b) < 0.4
    assert found.a.low < a < found.a.high
    assert found.b.low < b < found.b.high


def test_many_models_give_exact_estimates_despite_missing_answers() -> None:
    right = replies(100, 200, 1.0, 0.5, seed=3)
    right[np.random.default_rng(4).random(right.shape) < 0.1] = np.nan
    found = fit_2pl(right)
    assert abs(found.a.median - 1) < 0.1
    assert abs(found.b.median - 0.5) < 0.15
    assert abs(found.b.high - found.b.low - 2 * 1.2816 * 0.7) < 0.3


@pytest.mark.parametrize("right", [np.ones((6, 50)), np.zeros((6, 50)), np.eye(3), np.array([[1, 0, 1], [1, 0, 0.0]])])
def test_equal_models_have_finite_estimates(right: Numbers) -> None:
    found = fit_2pl(right)
    assert np.isfinite([*found.a, *found.b]).all()

"""Comparisons of constructed scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Side, compare


def _side(model: str, right: list[int], asked: int = 40) -> Side:
    """Return a side with a number of right answers at each noise ratio."""
    scores = {
        ComparedCondition("d", "en", "noise", 0.2 * place, 0.0, 5, "related"): {
            ComparedQuestion(str(number), f"Question {number}?", (("yes",),)): float(number < count)
            for number in range(asked)
        }
        for place, count in enumerate(right)
    }
    return Side(Path(model), model, scores)


def test_a_decline_is_adjusted_for_the_number_of_rows() -> None:
    (alone,) = compare(_side("a", [40]), _side("b", [33]), least=0.03)
    assert 0.025 < alone.decline_p < 0.05
    fallen, *_, same = compare(_side("a", [40] * 4), _side("b", [33, 40, 40, 40]), least=0.03)
    assert fallen.decline_p == pytest.approx(4 * alone.decline_p)
    assert same.decline_p == 1.0

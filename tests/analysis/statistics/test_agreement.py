"""Agreement of a judge with labels, computed by hand."""

from __future__ import annotations

import pytest

from ragbed.analysis.statistics.agreement import agreement
from ragbed.analysis.statistics.rates import wilson


def _raters(both_yes: int, people_yes: int, judge_yes: int, both_no: int) -> tuple[list[int], list[int]]:
    judged = [1] * both_yes + [0] * people_yes + [1] * judge_yes + [0] * both_no
    labels = [1] * both_yes + [1] * people_yes + [0] * judge_yes + [0] * both_no
    return judged, labels


def test_kappa_ac1_sensitivity_and_specificity_by_hand() -> None:
    found = agreement(*_raters(20, 5, 10, 15), range(50))
    assert found.n == 50
    assert found.agreed == wilson(35, 50)
    assert found.kappa.value == pytest.approx(0.4)
    assert found.ac1.value == pytest.approx((0.7 - 0.495) / 0.505)
    assert found.sensitivity == wilson(20, 25)
    assert found.specificity == wilson(15, 25)
    assert found.kappa.low < 0.4 < found.kappa.high


def test_ac1_is_stable_if_kappa_is_not() -> None:
    found = agreement(*_raters(94, 3, 3, 0), range(100))
    assert found.kappa.value < 0
    assert found.ac1.value > 0.9


def test_without_a_positive_there_is_no_sensitivity() -> None:
    assert agreement([0, 1, 0], [0, 0, 0], [0, 1, 2]).sensitivity is None


def test_responses_to_one_question_count_as_one_cluster() -> None:
    judged, labels = _raters(20, 5, 10, 15)
    copied = agreement(judged * 4, labels * 4, [*range(50)] * 4)
    once = agreement(judged, labels, range(50))
    assert copied.kappa == pytest.approx(once.kappa)
    assert copied.agreed[1:] == pytest.approx(once.agreed[1:], abs=0.005)

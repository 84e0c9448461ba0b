"""Agreement of a judge with labels, computed by hand."""

from __future__ import annotations

import math

import pytest

from ragbed.analysis.statistics.labels import agreement
from ragbed.analysis.statistics.rates import Interval, clustered_wilson


def _raters(both_yes: int, people_yes: int, judge_yes: int, both_no: int) -> tuple[list[int], list[int]]:
    judged = [1] * both_yes + [0] * people_yes + [1] * judge_yes + [0] * both_no
    labels = [1] * both_yes + [1] * people_yes + [0] * judge_yes + [0] * both_no
    return judged, labels


def _rate(hits: int, n: int) -> Interval:
    return clustered_wilson([1] * hits + [0] * (n - hits), [1] * n)


def test_raters_who_always_agree_have_a_lower_bound() -> None:
    found = agreement(*_raters(75, 0, 0, 75), range(150))
    assert found.kappa.value == found.kappa.high == 1.0
    assert found.kappa.low == pytest.approx(1 - 2 * (1 - _rate(150, 150).low))
    assert 0.9 < found.kappa.low < found.ac1.high == 1.0


def test_kappa_is_undefined_if_all_labels_are_equal() -> None:
    assert math.isnan(agreement(*_raters(9, 0, 0, 0), range(9)).kappa.low)


def test_kappa_ac1_sensitivity_and_specificity_by_hand() -> None:
    found = agreement(*_raters(20, 5, 10, 15), range(50))
    assert found.n == 50
    assert found.agreed == pytest.approx(_rate(35, 50))
    assert found.kappa.value == pytest.approx(0.4)
    assert found.ac1.value == pytest.approx((0.7 - 0.495) / 0.505)
    assert found.sensitivity == pytest.approx(_rate(20, 25))
    assert found.specificity == pytest.approx(_rate(15, 25))
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


def test_raters_who_never_agree_have_an_upper_bound() -> None:
    found = agreement(*_raters(0, 0, 20, 0), range(20))
    high = _rate(0, 20).high
    assert found.kappa == pytest.approx((0.0, 0.0, high))
    assert found.ac1 == pytest.approx((-1.0, -1.0, 2 * high - 1))

"""Adjustments for many tests: by hand and against a reference."""

from __future__ import annotations

import pytest

from ragbed.analysis.statistics.testing import holm


def test_holm_multiplies_by_the_tests_that_are_left_and_never_decreases() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])
    assert len(holm([])) == 0

"""Plans by drop and by number of questions."""

from __future__ import annotations

import pytest

from ragbed.analysis.statistics.planning import (
    Design,
    paired_design,
    plan_drop,
    plan_items,
    plan_power,
    unpaired_design,
)


@pytest.mark.parametrize("design", [paired_design(0.12), paired_design(times=3), unpaired_design(0.9)])
def test_the_exact_size_reaches_the_power_and_one_less_does_not(design: Design) -> None:
    plan = plan_items(design, 0.06, 0.8)
    assert plan.exact_items is not None
    assert plan_power(design, plan.exact_items, 0.06).power == pytest.approx(0.8, abs=0.01)
    assert (plan_power(design, plan.exact_items, 0.06).power or 0) >= 0.8
    assert (plan_power(design, plan.exact_items - 1, 0.06).power or 1) < 0.8


@pytest.mark.parametrize("design", [paired_design(0.12), paired_design(times=2), unpaired_design(0.9)])
def test_plans_by_drop_and_by_items_agree(design: Design) -> None:
    plan = plan_drop(design, 400, 0.8)
    assert plan.drop is not None
    assert plan.exact_drop is not None
    assert design.size(plan.drop, 0.8) == 400
    assert design.power(400, plan.exact_drop) == pytest.approx(0.8, abs=1e-3)


def test_an_impossible_drop_has_no_plan() -> None:
    assert plan_items(paired_design(0.04), 0.05, 0.8).items is None
    assert plan_items(unpaired_design(0.3), 0.4, 0.8).items is None
    assert plan_drop(unpaired_design(0.02), 40, 0.8).drop is None
    assert plan_power(paired_design(0.04), 100, 0.05).power is None

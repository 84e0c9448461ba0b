"""The planner: the design's table, simulation, and both directions."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.stats.binomial import sign_test
from ragbed.stats.planning import Paired, Unpaired, plan_drop, plan_items, plan_power
from ragbed.stats.power import paired_power, paired_size, unpaired_power, unpaired_size

_RUNS = 40_000


@pytest.mark.parametrize(
    ("drop", "discordance", "n"),
    [(0.03, 0.08, 696), (0.05, 0.10, 312), (0.05, 0.15, 469), (0.10, 0.20, 155), (0.10, 0.30, 234)],
)
def test_paired_sizes_are_those_of_the_design_and_their_power_that_of_simulation(
    drop: float, discordance: float, n: int
) -> None:
    assert paired_size(drop, discordance) == n
    shares = [(discordance + drop) / 2, (discordance - drop) / 2, 1 - discordance]
    drawn = np.random.default_rng(0).multinomial(n, shares, size=_RUNS)
    seen = (sign_test(drawn[:, 0], drawn[:, 1]) < 0.05).mean()
    assert paired_power(n, drop, discordance) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize(("base", "drop", "n"), [(0.95, 0.05, 435), (0.60, 0.10, 388)])
def test_unpaired_sizes_are_those_of_the_design_and_their_power_that_of_simulation(
    base: float, drop: float, n: int
) -> None:
    assert unpaired_size(base, drop) == n
    rng = np.random.default_rng(0)
    first, second = rng.binomial(n, base, _RUNS) / n, rng.binomial(n, base - drop, _RUNS) / n
    pooled = (first + second) / 2
    seen = (np.abs(first - second) > 1.959964 * np.sqrt(pooled * (1 - pooled) * 2 / n)).mean()
    assert unpaired_power(n, base, drop) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize("design", [Paired(0.12), Paired(times=3), Unpaired(0.9)])
def test_the_exact_size_reaches_the_power_and_one_less_does_not(design: Paired | Unpaired) -> None:
    plan = plan_items(design, 0.06, 0.8)
    assert plan.exact_items is not None
    assert plan_power(design, plan.exact_items, 0.06).power == pytest.approx(0.8, abs=0.01)
    assert (plan_power(design, plan.exact_items, 0.06).power or 0) >= 0.8
    assert (plan_power(design, plan.exact_items - 1, 0.06).power or 1) < 0.8


@pytest.mark.parametrize("design", [Paired(0.12), Paired(times=2), Unpaired(0.9)])
def test_the_two_directions_meet(design: Paired | Unpaired) -> None:
    plan = plan_drop(design, 400, 0.8)
    assert plan.drop is not None
    assert plan.exact_drop is not None
    assert design.size(plan.drop, 0.8) == 400
    assert design.power(400, plan.exact_drop) == pytest.approx(0.8, abs=1e-3)


def test_what_cannot_fall_that_far_has_no_plan() -> None:
    assert plan_items(Paired(0.04), 0.05, 0.8).items is None
    assert plan_items(Unpaired(0.3), 0.4, 0.8).items is None
    assert plan_drop(Unpaired(0.02), 40, 0.8).drop is None
    assert plan_power(Paired(0.04), 100, 0.05).power is None


@pytest.mark.parametrize(("drop", "discordance"), [(0, 0.1), (0.2, 0.1), (0.2, 1.1)])
def test_impossible_designs_are_refused(drop: float, discordance: float) -> None:
    with pytest.raises(ValueError, match="needs a discordance"):
        paired_size(drop, discordance)


def test_a_drop_below_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves no rate"):
        unpaired_size(0.1, 0.2)

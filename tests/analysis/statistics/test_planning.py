"""Sample sizes, detectable drops and power, against a table of known values and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.analysis.statistics.planning import (
    PairedDesign,
    paired_power,
    paired_size,
)
from ragbed.analysis.statistics.testing import sign_test

_RUNS = 40_000


@pytest.mark.parametrize(
    ("drop", "discordance", "n"),
    [(0.03, 0.08, 696), (0.05, 0.10, 312), (0.05, 0.15, 469), (0.10, 0.20, 155), (0.10, 0.30, 234)],
)
def test_paired_sizes_and_power_match_simulations(drop: float, discordance: float, n: int) -> None:
    assert paired_size(drop, discordance) == n
    shares = [(discordance + drop) / 2, (discordance - drop) / 2, 1 - discordance]
    drawn = np.random.default_rng(0).multinomial(n, shares, size=_RUNS)
    seen = (sign_test(drawn[:, 0], drawn[:, 1]) < 0.05).mean()
    assert paired_power(n, drop, discordance) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize(("drop", "discordance"), [(0, 0.1), (0.2, 0.1), (0.2, 1.1)])
def test_impossible_designs_are_refused(drop: float, discordance: float) -> None:
    with pytest.raises(ValueError, match="requires a discordance"):
        paired_size(drop, discordance)


DESIGNS = [PairedDesign(0.12), PairedDesign(times=3)]


@pytest.mark.parametrize("design", DESIGNS)
def test_the_planned_size_reaches_the_power_and_one_less_does_not(design: PairedDesign) -> None:
    plan = design.plan(0.06, None, 0.8)
    assert plan.items is not None
    assert plan.power == pytest.approx(0.8, abs=0.01)
    assert (design.plan(0.06, plan.items, 0.8).power or 0) >= 0.8
    assert (design.plan(0.06, plan.items - 1, 0.8).power or 1) < 0.8


@pytest.mark.parametrize("design", DESIGNS)
def test_the_planned_drop_is_the_smallest_that_is_detected(design: PairedDesign) -> None:
    plan = design.plan(None, 400, 0.8)
    assert plan.drop is not None
    assert design.power(400, plan.drop) == pytest.approx(0.8, abs=1e-3)
    assert design.power(400, plan.drop - 1e-3) < 0.8


def test_an_impossible_drop_has_no_plan() -> None:
    assert PairedDesign(0.04).plan(0.05, None, 0.8).items is None
    assert PairedDesign(0.02).plan(None, 40, 0.8).drop is None
    assert PairedDesign(0.04).plan(0.05, 100, 0.8).power is None

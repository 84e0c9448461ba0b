"""Sample sizes and power against a table of known values and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.analysis.statistics.planning import paired_power, paired_size, unpaired_power, unpaired_size
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


@pytest.mark.parametrize(("base", "drop", "n"), [(0.95, 0.05, 435), (0.60, 0.10, 388)])
def test_unpaired_sizes_and_power_match_simulations(base: float, drop: float, n: int) -> None:
    assert unpaired_size(base, drop) == n
    rng = np.random.default_rng(0)
    first, second = rng.binomial(n, base, _RUNS) / n, rng.binomial(n, base - drop, _RUNS) / n
    pooled = (first + second) / 2
    seen = (np.abs(first - second) > 1.959964 * np.sqrt(pooled * (1 - pooled) * 2 / n)).mean()
    assert unpaired_power(n, base, drop) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize(("drop", "discordance"), [(0, 0.1), (0.2, 0.1), (0.2, 1.1)])
def test_impossible_designs_are_refused(drop: float, discordance: float) -> None:
    with pytest.raises(ValueError, match="requires a discordance"):
        paired_size(drop, discordance)


def test_a_drop_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="would give a rate outside the range from 0 to 1"):
        unpaired_size(0.1, 0.2)

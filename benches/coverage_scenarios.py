"""Scenarios for `python -m benches stats_coverage`: clustered rates, paired differences, curves and gates.

Questions differ in difficulty. A question can have several trials (positions), and an event can have several questions,
whose verdicts are correlated. Every scenario gives the share of simulated runs in which the interval contains the true
value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Comparison, Side, compare
from ragbed.analysis.gates import check_declines, check_floors, parse_floor
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.statistics.binomial import Floats, probabilities
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.analysis.statistics.rates import ALPHA, clustered_wilson
from ragbed.analysis.statistics.simultaneous import clustered_bands
from ragbed.schema import Estimate

SIZES = (20, 30, 50, 100, 300)
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.95)
CORRELATIONS = (0.0, 0.3, 1.0)
_RATIOS = np.linspace(0, 0.8, 5)
_HERE = ComparedCondition("d", "en", "noise", 0.4, 0.0, 5, "related")


class Scenario(NamedTuple):
    """A simulated design, and the share of runs in which its interval contains the true value or its gate fails."""

    name: str
    n: int
    share: float


def single_trials() -> Iterator[Scenario]:
    """Yield rates with one trial per question, computed exactly from the interval for every outcome."""
    for n in SIZES:
        found = [clustered_wilson([1] * hits + [0] * (n - hits), [1] * n) for hits in range(n + 1)]
        low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
        for share in SHARES:
            covered = probabilities(n, share)[(low <= share) & (share <= high)].sum()
            yield Scenario(f"one trial per question, rate {share}", n, float(covered))


def clustered_rates(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield rates for questions at five positions, and for events with one to five questions."""
    designs = {"5 positions": [5], "events of 1 to 5 questions": [1, 1, 2, 3, 5]}
    for n, (name, pattern), correlation, share in product(SIZES, designs.items(), CORRELATIONS, SHARES):
        sizes = np.resize(pattern, n)
        hits = rng.binomial(sizes, _difficulties(rng, (runs, n), share, correlation)).tolist()
        found = [clustered_wilson(row, sizes.tolist()) for row in hits]
        covered = sum(one.low <= share <= one.high for one in found) / runs
        yield Scenario(f"{name}, correlation {correlation}, rate {share}", n, covered)


def _difficulties(rng: np.random.Generator, shape: tuple[int, int], share: float, correlation: float) -> Floats:
    if correlation == 0:
        return np.full(shape, share)
    if correlation == 1:
        return (rng.random(shape) < share).astype(np.float64)
    spread = (1 - correlation) / correlation
    return rng.beta(spread * share, spread * (1 - share), shape)


def differences(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield paired differences of verdicts, and of means over positions or over an event's questions."""
    flips = ((0.02, 0.02), (0.1, 0.1), (0.3, 0.3), (0.02, 0.08), (0.0, 0.1), (0.1, 0.4))
    for n, (up, down) in product(SIZES, flips):
        drawn = rng.random((runs, n))
        moved = (drawn < up).astype(float) - ((drawn >= up) & (drawn < up + down))
        yield Scenario(f"verdicts, {up} rise and {down} fall", n, _covers(moved, up - down))
    for n, m, spread, base, effect in product(SIZES, (2, 5), (0.0, 2.0, 8.0), (0.0, 2.0), (0.0, -1.0)):
        before, after = base + spread * rng.standard_normal((2, runs, n))
        after = before + effect + (after - base) / 2
        truth = _mean_change(base, effect, spread)
        moved = (rng.binomial(m, _logistic(after)) - rng.binomial(m, _logistic(before))) / m
        yield Scenario(f"means of {m}, spread {spread}, base {base}, effect {effect}", n, _covers(moved, truth))


def _covers(moved: Floats, truth: float) -> float:
    found = [paired_difference(row) for row in moved]
    return sum(one.low <= truth <= one.high for one in found) / len(found)


def _mean_change(base: float, effect: float, spread: float) -> float:
    first, second = spread * np.random.default_rng(1).standard_normal((2, 400_000))
    return float((_logistic(base + first + effect + second / 2) - _logistic(base + first)).mean())


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


def curve_bands(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield curves of five noise ratios, with the share of runs in which all five rates are inside their bands."""
    for n, m, spread, (base, fall) in product((20, 50, 150), (1, 3), (0.0, 1.5, 4.0), ((0.0, 1.0), (3.0, 3.0))):
        level = base - fall * _RATIOS
        extra = spread * np.random.default_rng(1).standard_normal((400_000, 1))
        truth = np.array([_logistic(one + extra).mean() for one in level])
        ability = spread * rng.standard_normal((runs, n, 1)) + level
        covered = 0
        for hits in rng.binomial(m, _logistic(ability)):
            bands = clustered_bands(np.column_stack([hits, np.full_like(hits, m)]), [1] * n)
            covered += all(band.low <= rate <= band.high for band, rate in zip(bands, truth, strict=True))
        yield Scenario(f"{m} trials, spread {spread}, from {base} by {fall}", n, covered / runs)


def floor_alarms(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield how often `--fail-under` fails even though the true rate equals the minimum."""
    for n, size, correlation, share in product((20, 50, 150), (1, 5), CORRELATIONS, (0.5, 0.8, 0.95)):
        if size == 1 and correlation:
            continue
        gate = [parse_floor(f"noise.accuracy={share}")]
        hits = rng.binomial(size, _difficulties(rng, (runs, n), share, correlation)).tolist()
        failed = sum(check_floors(gate, [_cell(row, size)])[0].state == "failed" for row in hits)
        yield Scenario(f"floor {share}, {size} trials, correlation {correlation}", n, failed / runs)


def _cell(hits: list[int], size: int) -> Cell:
    value, low, high = clustered_wilson(hits, [size] * len(hits))
    n = size * len(hits)
    estimate = Estimate(
        metric="accuracy", value=value, low=low, high=high, n=n, questions=n, asked=n, errors=0, infeasible=0
    )
    return Cell("noise", TrialGroup("m", "d", "en", "robust"), "robust", "all", estimate, {"noise": 0.8, "k": 5})


class PairedScenario(NamedTuple):
    """The results of `compare` on minimal pairs: coverage, test size, and false alarms of `--fail-if-worse`."""

    name: str
    n: int
    covered: float
    size: float
    alarms: float


def minimal_pairs(rng: np.random.Generator, runs: int) -> Iterator[PairedScenario]:
    """Yield comparisons of runs with three correlated questions per event."""
    for n, flips in product((20, 60), (0.1, 0.3)):
        loss = 0.16 * 0.8 * flips  # for side B, whose events change with probability `flips`
        changed = [_compare(*_sides(rng, n, (0.0, flips)), loss) for _ in range(runs)]
        same = [_compare(*_sides(rng, n, (flips, flips)), loss) for _ in range(runs)]
        covered = sum(row.difference.low <= -loss <= row.difference.high for row in changed)
        size = sum(row.p < ALPHA for row in same)
        alarms = sum(check_declines([row], loss)[0].state == "failed" for row in changed)
        yield PairedScenario(
            f"three questions per event, {flips} change", n, covered / runs, size / runs, alarms / runs
        )


def _sides(rng: np.random.Generator, n: int, flips: tuple[float, float]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return both sides' verdicts on three questions for each of n events, with an error in every tenth verdict."""
    ability = rng.random((n, 1)) < 0.6
    moved = [(rng.random((n, 1)) < share) & (rng.random((n, 3)) < 0.8) for share in flips]
    first, second = (ability ^ flip ^ (rng.random((n, 3)) < 0.1) for flip in moved)
    return first, second


def _compare(before: NDArray[np.bool_], after: NDArray[np.bool_], least: float) -> Comparison:
    sides = []
    for verdicts in (before, after):
        scores = {
            ComparedQuestion(f"{event}-{number}", f"{event}-{number}?", (("a",),), str(event)): float(verdict)
            for event, row in enumerate(verdicts.tolist())
            for number, verdict in enumerate(row)
        }
        sides.append(Side(Path(), "m", {_HERE: scores}))
    first, second = sides
    return compare(first, second, least)[0]

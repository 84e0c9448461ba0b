"""Scenarios for `python -m benches stats_coverage`: clustered rates, paired differences, curves and gates.

Questions differ in difficulty. A question can have several trials (positions), and an event can have several questions,
whose verdicts are correlated. Every scenario gives the share of simulated runs in which the interval contains the true
value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
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
from ragbed.analysis.statistics.rates import ALPHA, LEVEL, Interval, clustered_wilson
from ragbed.analysis.statistics.simultaneous import clustered_bands
from ragbed.schema import Estimate

SIZES = (20, 30, 50, 100, 300)
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.95)
CORRELATIONS = (0.0, 0.3, 1.0)
FLIPS = ((0.02, 0.02), (0.1, 0.1), (0.3, 0.3), (0.02, 0.08), (0.0, 0.1), (0.1, 0.4))
# Events of very different sizes: numbers of events and their numbers of questions.
UNEVEN = (
    ((19, 1), (1, 10)),
    ((27, 1), (3, 10)),
    ((36, 1), (4, 20)),
    ((58, 1), (2, 20)),
    ((95, 1), (5, 10)),
    ((280, 1), (20, 15)),
)
_NEAR = 0.02  # share of false alarms above which a scenario is simulated again with more runs
_LOW = 0.935  # coverage below which a scenario is simulated again with more runs
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
    """Yield rates for questions at five positions, and for events with similar or very different sizes."""
    designs = [
        (name, np.resize(pattern, n))
        for name, pattern in (("5 positions", [5]), ("events of 1 to 5 questions", [1, 1, 2, 3, 5]))
        for n in SIZES
    ]
    for (name, sizes), correlation, share in product([*designs, *_uneven()], CORRELATIONS, SHARES):
        hits = rng.binomial(sizes, _difficulties(rng, (runs, len(sizes)), share, correlation))
        found = [(clustered_wilson(*row), times) for row, times in _distinct(hits, sizes)]
        covered = sum(times for one, times in found if one.low <= share <= one.high) / runs
        yield Scenario(f"{name}, correlation {correlation}, rate {share}", len(sizes), covered)


def _uneven() -> Iterator[tuple[str, NDArray[np.int64]]]:
    for design in UNEVEN:
        name = " and ".join(f"{events} events of {size}" for events, size in design)
        yield name, np.repeat([size for _, size in design], [events for events, _ in design])


def _distinct(
    hits: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Iterator[tuple[tuple[list[int], list[int], float, list[int]], int]]:
    """Yield the arguments of `clustered_wilson` for each distinct run, and how often the run occurs."""
    levels = [(size, hit) for size in np.unique(sizes).tolist() for hit in range(size + 1)]
    counts = np.stack([(hits[:, sizes == size] == hit).sum(axis=1) for size, hit in levels], axis=1)
    rows, times = np.unique(counts, axis=0, return_counts=True)
    for row, number in zip(rows.tolist(), times.tolist(), strict=True):
        present = [(size, hit, count) for (size, hit), count in zip(levels, row, strict=True) if count]
        trials, hit, count = (list(column) for column in zip(*present, strict=True))
        yield (hit, trials, LEVEL, count), number


def _difficulties(rng: np.random.Generator, shape: tuple[int, int], share: float, correlation: float) -> Floats:
    if correlation == 0:
        return np.full(shape, share)
    if correlation == 1:
        return (rng.random(shape) < share).astype(np.float64)
    spread = (1 - correlation) / correlation
    return rng.beta(spread * share, spread * (1 - share), shape)


def differences(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield paired differences of verdicts, and of means over positions or over an event's questions.

    Scenarios near the limit are simulated again with ten times as many runs, and only these runs are counted.
    """
    for name, n, truth, draw in _difference_designs():
        covered = _covers(draw(rng, runs), truth)
        if covered < _LOW:
            covered = _covers(draw(rng, 10 * runs), truth)
        yield Scenario(name, n, covered)


def _difference_designs() -> Iterator[tuple[str, int, float, Callable[[np.random.Generator, int], Floats]]]:
    """Yield the name of a design, its number of questions or events, the true difference, and a function that draws."""
    for n, (up, down) in product(SIZES, FLIPS):
        draw = partial(_draw_events, np.ones(n, np.int64), 0.0, (up, down))
        yield f"verdicts, {up} rise and {down} fall", n, up - down, draw
    for n, m, spread, base, effect in product(SIZES, (2, 5), (0.0, 2.0, 8.0), (0.0, 2.0), (0.0, -1.0)):
        name = f"means of {m}, spread {spread}, base {base}, effect {effect}"
        yield name, n, _mean_change(base, effect, spread), partial(_draw_means, (n, m), spread, base, effect)
    even = [("events of 10", np.full(n, 10)) for n in SIZES]
    for (name, sizes), correlation, (up, down) in product([*even, *_uneven()], CORRELATIONS, FLIPS):
        draw = partial(_draw_events, sizes, correlation, (up, down))
        yield f"{name}, correlation {correlation}, {up} rise and {down} fall", len(sizes), up - down, draw


def _draw_means(
    shape: tuple[int, int], spread: float, base: float, effect: float, rng: np.random.Generator, runs: int
) -> Floats:
    """Return the changes in the mean over m trials, for each of n questions (`shape`)."""
    n, m = shape
    before, after = base + spread * rng.standard_normal((2, runs, n))
    after = before + effect + (after - base) / 2
    return np.asarray((rng.binomial(m, _logistic(after)) - rng.binomial(m, _logistic(before))) / m)


def _draw_events(
    sizes: NDArray[np.int64], correlation: float, flips: tuple[float, float], rng: np.random.Generator, runs: int
) -> Floats:
    """Return the mean change of each event."""
    parts = [
        _changes(rng, (runs, int((sizes == size).sum()), size), flips, correlation)
        for size in np.unique(sizes).tolist()
    ]
    return np.concatenate(parts, axis=1)


def _changes(
    rng: np.random.Generator, shape: tuple[int, int, int], flips: tuple[float, float], correlation: float
) -> Floats:
    """Return the mean change of events (runs, events, questions); in some events, all questions change together."""
    up, down = flips
    together = rng.random((*shape[:2], 1)) < correlation
    drawn = np.where(together, rng.random((*shape[:2], 1)), rng.random(shape))
    return np.asarray(((drawn < up).astype(float) - ((drawn >= up) & (drawn < up + down))).mean(axis=2))


def _covers(moved: Floats, truth: float) -> float:
    ordered, times = np.unique(np.sort(np.round(moved, 9), axis=1), axis=0, return_counts=True)
    found = [paired_difference(row) for row in ordered]
    return float(sum(n for one, n in zip(found, times.tolist(), strict=True) if one.low <= truth <= one.high)) / len(
        moved
    )


def _mean_change(base: float, effect: float, spread: float) -> float:
    first, second = spread * np.random.default_rng(1).standard_normal((2, 400_000))
    return float((_logistic(base + first + effect + second / 2) - _logistic(base + first)).mean())


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)))


def curve_bands(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield curves of five noise ratios, with the share of runs in which all five rates are inside their bands.

    Scenarios near the limit are simulated again with ten times as many runs, and only these runs are counted.
    """
    for n, m, spread, (base, fall) in product((20, 50, 150), (1, 3), (0.0, 1.5, 4.0), ((0.0, 1.0), (3.0, 3.0))):
        level = base - fall * _RATIOS
        extra = spread * np.random.default_rng(1).standard_normal((400_000, 1))
        truth = np.array([_logistic(one + extra).mean() for one in level])
        curve = _Curve(n, m, spread, level, truth)
        covered = curve.count_covered(rng, runs) / runs
        if covered < _LOW:
            covered = curve.count_covered(rng, 10 * runs) / (10 * runs)
        yield Scenario(f"{m} trials, spread {spread}, from {base} by {fall}", n, covered)


class _Curve(NamedTuple):
    """A curve: n questions with m trials at each ratio, whose abilities vary, and the true rates."""

    n: int
    m: int
    spread: float
    level: Floats
    truth: Floats

    def count_covered(self, rng: np.random.Generator, runs: int) -> int:
        """Return the number of simulated runs in which all rates are inside their bands."""
        ability = self.spread * rng.standard_normal((runs, self.n, 1)) + self.level
        covered = 0
        for hits in rng.binomial(self.m, _logistic(ability)):
            bands = clustered_bands(np.column_stack([hits, np.full_like(hits, self.m)]), [1] * self.n)
            covered += all(band.low <= rate <= band.high for band, rate in zip(bands, self.truth, strict=True))
        return covered


def floor_alarms(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield how often `--fail-under` fails even though the true rate equals the minimum.

    Scenarios near the limit are simulated again with ten times as many runs, and only these runs are counted.
    """
    alike = [(f"{size} trials", np.full(n, size)) for n in (20, 50, 150) for size in (1, 5)]
    for (name, sizes), correlation, share in product([*alike, *_uneven()], CORRELATIONS, (0.5, 0.7, 0.8, 0.95)):
        if sizes.max() == 1 and correlation:
            continue
        alarms = _count_alarms(rng, runs, sizes, correlation, share) / runs
        if alarms > _NEAR:
            alarms = _count_alarms(rng, 10 * runs, sizes, correlation, share) / (10 * runs)
        yield Scenario(f"floor {share}, {name}, correlation {correlation}", len(sizes), alarms)


def _count_alarms(
    rng: np.random.Generator, runs: int, sizes: NDArray[np.int64], correlation: float, share: float
) -> int:
    gate, n = [parse_floor(f"noise.accuracy={share}")], int(sizes.sum())
    hits = rng.binomial(sizes, _difficulties(rng, (runs, len(sizes)), share, correlation))
    return sum(
        times
        for row, times in _distinct(hits[hits.sum(axis=1) < share * n], sizes)
        if check_floors(gate, [_cell(clustered_wilson(*row), n)])[0].state == "failed"
    )


def _cell(interval: Interval, n: int) -> Cell:
    value, low, high = interval
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

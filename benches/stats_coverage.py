"""Simulate how often intervals cover, how often tests err, and whether sample sizes suffice.

Figures are exact if the outcomes can be enumerated (one rate, McNemar's size and power), and simulated otherwise.
The exit code is 1 if a figure is out of its bounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ragbed.analysis.statistics.binomial import Floats, clopper_pearson, probabilities, sign_test
from ragbed.analysis.statistics.bootstrap import bootstrap
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.analysis.statistics.power import paired_power, unpaired_power
from ragbed.analysis.statistics.ppi import prediction_powered
from ragbed.analysis.statistics.rates import Interval, clustered_wilson, wilson

SHARES = np.arange(1, 100) / 100
PPI_SHARES = np.array([1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99]) / 100
JUDGES = {"good": (0.90, 0.95), "excellent": (0.99, 0.99), "poor": (0.70, 0.80)}
PPI_RUNS, JUDGED = 1_000, 2_000
failures: list[str] = []


def check(name: str, value: str, holds: bool) -> None:
    """Print a figure, and record it if it is out of bounds."""
    print(f"{'ok  ' if holds else 'FAIL'}  {name:<58} {value}")
    if not holds:
        failures.append(name)


def has_room(shares: Floats, n: int) -> NDArray[np.bool_]:
    """Return where at least five hits and five misses are expected."""
    return np.asarray(np.minimum(n * shares, n * (1 - shares)) >= 5 - 1e-9)


def exact_coverage(interval: Callable[[int, int], Interval], n: int) -> Floats:
    """Return the coverage at every share, from the interval of every outcome."""
    found = [interval(hits, n) for hits in range(n + 1)]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    return np.array([probabilities(n, share)[(low <= share) & (share <= high)].sum() for share in SHARES])


def bootstrapped(hits: int, n: int) -> Interval:
    """Return the BCa interval, or Wilson's if all or none are hits."""
    if hits in (0, n):
        return wilson(hits, n)
    return bootstrap([[1, 1]] * hits + [[0, 1]] * (n - hits), lambda totals: totals[..., :1] / totals[..., 1:])[0]


def ppi_coverage(n: int, judge: tuple[float, float], rng: np.random.Generator) -> Floats:
    """Return the coverage of the corrected rate of 2,000 judged responses with n labels."""
    covered = np.zeros(len(PPI_SHARES))
    sensitivity, specificity = judge
    for place, share in enumerate(PPI_SHARES):
        for _ in range(PPI_RUNS):
            truth = rng.random(JUDGED) < share
            judged = np.where(truth, rng.random(JUDGED) < sensitivity, rng.random(JUDGED) >= specificity)
            labels = np.where(np.arange(JUDGED) < n, truth, np.nan)
            rate = prediction_powered(judged, labels, np.arange(JUDGED)).rate
            covered[place] += rate.low <= share <= rate.high
    return covered / PPI_RUNS


def rates() -> None:
    """Check one rate with one trial per question."""
    for n in (100, 300):
        room = has_room(SHARES, n)
        for name, interval in (("Wilson", wilson), ("bootstrap (BCa)", bootstrapped)):
            covered = exact_coverage(interval, n)
            value = f"mean {covered.mean():.3f}, least where np ≥ 5 {covered[room].min():.3f}"
            check(f"{name}, n = {n}: mean 0.93–0.97, least ≥ 0.90", value, within(covered, room))
        covered = exact_coverage(clopper_pearson, n)
        check(f"Clopper–Pearson, n = {n}: least ≥ 0.95", f"least {covered.min():.3f}", covered.min() >= 0.95)


def clustered(rng: np.random.Generator, runs: int = 2_000) -> None:
    """Check one rate with five correlated trials per question."""
    covered = 0
    for _ in range(runs):
        easiness = rng.beta(1.4, 0.6, size=200)  # mean 0.7, correlation within a question 1/3
        interval = clustered_wilson(rng.binomial(5, easiness).tolist(), [5] * 200)
        covered += interval.low <= 0.7 <= interval.high
    check("clustered Wilson, 200 questions × 5: 0.93–0.97", f"{covered / runs:.3f}", 0.93 <= covered / runs <= 0.97)


def ppi(rng: np.random.Generator) -> None:
    """Check corrected rates."""
    for n in (100, 300):
        for name, judge in JUDGES.items():
            covered = ppi_coverage(n, judge, rng)
            room = has_room(PPI_SHARES, n)
            # The mean over the shares 0.01 … 0.99, interpolated between the simulated ones.
            mean = float(np.interp(SHARES, PPI_SHARES, covered).mean())
            value = f"mean {mean:.3f}, least where np ≥ 5 {covered[room].min():.3f}"
            holds = 0.93 <= mean <= 0.97 and covered[room].min() >= 0.90
            check(f"PPI, {n} labels, {name} judge: mean 0.93–0.97, least ≥ 0.90", value, holds)


def within(covered: Floats, room: NDArray[np.bool_]) -> bool:
    """Return whether the coverage is within its bounds."""
    return bool(0.93 <= covered.mean() <= 0.97 and covered[room].min() >= 0.90)


def tests(rng: np.random.Generator) -> None:
    """Check the size of McNemar's test, and the interval of a difference."""
    size = 0.0
    for n in (100, 300):
        for discordance in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8):
            size = max(size, paired_power(n, 0.0, discordance))
    check("McNemar, 12 designs without a difference: size ≤ 0.05", f"largest {size:.4f}", size <= 0.05)
    for n in (100, 300):
        drawn = rng.multinomial(n, [0.12, 0.04, 0.84], size=4_000).tolist()
        found = [paired_difference([-1] * down + [1] * up + [0] * same) for down, up, same in drawn]
        covered = sum(one.low <= -0.08 <= one.high for one in found) / len(found)
        check(f"paired difference, n = {n}: 0.93–0.97", f"{covered:.3f}", 0.93 <= covered <= 0.97)


def plans(rng: np.random.Generator, runs: int = 200_000) -> None:
    """Compare the computed power with simulations."""
    for n, drop, discordance in (
        (696, 0.03, 0.08),
        (312, 0.05, 0.1),
        (469, 0.05, 0.15),
        (155, 0.1, 0.2),
        (234, 0.1, 0.3),
    ):
        drawn = rng.multinomial(n, [(discordance + drop) / 2, (discordance - drop) / 2, 1 - discordance], size=runs)
        seen, computed = float((sign_test(drawn[:, 0], drawn[:, 1]) < 0.05).mean()), paired_power(n, drop, discordance)
        name = f"power, paired, n = {n}, drop {drop}: within 0.02"
        check(name, f"computed {computed:.4f}, simulated {seen:.4f}", abs(computed - seen) <= 0.02)
    for n, base, drop in ((435, 0.95, 0.05), (388, 0.6, 0.1)):
        first, second = rng.binomial(n, base, runs) / n, rng.binomial(n, base - drop, runs) / n
        pooled = (first + second) / 2
        seen = float((np.abs(first - second) > 1.959964 * np.sqrt(pooled * (1 - pooled) * 2 / n)).mean())
        computed = unpaired_power(n, base, drop)
        name = f"power, unpaired, n = {n}, drop {drop}: within 0.02"
        check(name, f"computed {computed:.4f}, simulated {seen:.4f}", abs(computed - seen) <= 0.02)


def main() -> None:
    """Print all figures; exit code 1 if one is out of its bounds."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    generator = np.random.default_rng(0)
    rates()
    clustered(generator)
    ppi(generator)
    tests(generator)
    plans(generator)
    sys.exit(bool(failures))

"""Measure how often intervals contain the true value, how often tests err, and whether sample sizes suffice.

Figures are exact if the outcomes can be enumerated (one rate, McNemar's size and power), and simulated otherwise.
The exit code is 1 if a figure is out of its bounds. `--write FILE` stores the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benches.ability_scenarios import flip_points, long_contexts, selective_answers
from benches.coverage_scenarios import (
    Scenario,
    clustered_rates,
    curve_bands,
    differences,
    floor_alarms,
    minimal_pairs,
    single_trials,
)
from ragbed.analysis.statistics.binomial import Floats, clopper_pearson, probabilities, sign_test
from ragbed.analysis.statistics.bootstrap import bootstrap
from ragbed.analysis.statistics.power import paired_power, unpaired_power
from ragbed.analysis.statistics.ppi import prediction_powered
from ragbed.analysis.statistics.rates import Interval, wilson

SHARES = np.arange(1, 100) / 100
PPI_SHARES = np.array([1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99]) / 100
JUDGES = {"good": (0.90, 0.95), "excellent": (0.99, 0.99), "poor": (0.70, 0.80)}
PPI_RUNS, JUDGED = 1_000, 2_000
failures: list[str] = []
figures: dict[str, dict[str, float | str]] = {}


def check(name: str, value: str, holds: bool) -> None:
    """Print a figure, and record it if it is out of bounds."""
    print(f"{'ok  ' if holds else 'FAIL'}  {name:<58} {value}")
    if not holds:
        failures.append(name)


def has_room(shares: Floats, n: int) -> NDArray[np.bool_]:
    """Return a mask of the shares for which at least five hits and five misses are expected."""
    return np.asarray(np.minimum(n * shares, n * (1 - shares)) >= 5 - 1e-9)


def exact_coverage(interval: Callable[[int, int], Interval], n: int) -> Floats:
    """Return the coverage at every share, computed from the interval for every outcome."""
    found = [interval(hits, n) for hits in range(n + 1)]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    return np.array([probabilities(n, share)[(low <= share) & (share <= high)].sum() for share in SHARES])


def bootstrapped(hits: int, n: int) -> Interval:
    """Return the BCa interval, or Wilson's if there are only hits or only misses."""
    if hits in (0, n):
        return wilson(hits, n)
    return bootstrap([[1, 1]] * hits + [[0, 1]] * (n - hits), lambda totals: totals[..., :1] / totals[..., 1:])[0]


def ppi_coverage(n: int, judge: tuple[float, float], rng: np.random.Generator) -> Floats:
    """Return the coverage of the corrected rate for 2,000 judged responses with n labels."""
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
    """Check a single rate with one trial per question."""
    for n in (100, 300):
        room = has_room(SHARES, n)
        for name, interval in (("Wilson", wilson), ("bootstrap (BCa)", bootstrapped)):
            covered = exact_coverage(interval, n)
            value = f"mean {covered.mean():.3f}, least where np ≥ 5 {covered[room].min():.3f}"
            check(f"{name}, n = {n}: mean 0.93–0.97, least ≥ 0.90", value, within(covered, room))
        covered = exact_coverage(clopper_pearson, n)
        check(f"Clopper–Pearson, n = {n}: least ≥ 0.95", f"least {covered.min():.3f}", covered.min() >= 0.95)


def check_rates(rng: np.random.Generator, runs: int) -> None:
    """Check rates with 20 or more questions."""
    _check_coverage("rates, one trial per question", single_trials(), 0)
    _check_coverage("rates, positions and events", clustered_rates(rng, runs), runs)


def check_differences(rng: np.random.Generator, runs: int) -> None:
    """Check paired differences with 20 or more questions."""
    _check_coverage("paired differences", differences(rng, runs), runs)


def check_curves(rng: np.random.Generator, runs: int) -> None:
    """Check the confidence bands of curves."""
    _check_coverage("curves, all points together", curve_bands(rng, runs), runs)


def check_gates(rng: np.random.Generator, runs: int) -> None:
    """Check comparisons with minimal pairs, and the false alarms of `--fail-if-worse`."""
    pairs = list(minimal_pairs(rng, runs))
    _check_coverage("compare, minimal pairs", [Scenario(one.name, one.n, one.covered) for one in pairs], runs)
    _check_alarms("compare, minimal pairs: size", [one.size for one in pairs], 0.05, runs)
    _check_alarms("--fail-if-worse, minimal pairs: false alarms", [one.alarms for one in pairs], 0.025, runs)


def check_floor_gates(rng: np.random.Generator, runs: int) -> None:
    """Check the false alarms of `--fail-under`."""
    found = list(floor_alarms(rng, runs))
    print(f"      --fail-under: most false alarms: {max(found, key=lambda one: one.share)}")
    _check_alarms("--fail-under: false alarms", [one.share for one in found], 0.025, runs)


def check_abilities(rng: np.random.Generator, runs: int) -> None:
    """Check flip points of the conflict testbed and selective prediction, with 100 or more questions."""
    _check_coverage("conflict, flip point", flip_points(rng, runs), runs)
    _check_coverage("selective prediction", selective_answers(rng, runs // 5), runs // 5)


def check_length(rng: np.random.Generator, runs: int) -> None:
    """Check the trend and the loss in the middle of the testbed `length`, with 100 or more questions."""
    _check_coverage("long contexts", long_contexts(rng, runs), runs)


PARTS = {
    "rates": check_rates,
    "differences": check_differences,
    "curves": check_curves,
    "gates": check_gates,
    "floors": check_floor_gates,
    "abilities": check_abilities,
    "length": check_length,
}


def _check_coverage(name: str, found: Iterable[Scenario], runs: int) -> None:
    rows = list(found)
    shares = np.array([row.share for row in rows])
    worst = min(rows, key=lambda row: row.share)
    mean, least = float(shares.mean()), float(shares.min())
    figures[name] = {
        "runs": runs,  # number of runs per scenario; 0 if the coverage is exact
        "scenarios": len(rows),
        "mean": round(mean, 3),
        "least": round(least, 3),
        "worst": f"{worst.name}, n = {worst.n}",
    }
    value = f"{len(rows)} scenarios: mean {mean:.3f}, least {least:.3f} ({worst.name}, n = {worst.n})"
    error = 2 * (0.95 * 0.05 / runs) ** 0.5 if runs else 0.0  # error of a simulated share
    holds = 0.94 <= mean <= 0.97 and least >= 0.93 - error
    check(f"{name}: mean 0.94–0.97, least ≥ 0.93", value, holds)


def _check_alarms(name: str, shares: list[float], most: float, runs: int) -> None:
    error = 2 * (most * (1 - most) / runs) ** 0.5
    largest, mean = max(shares), float(np.mean(shares))
    figures[name] = {"runs": runs, "scenarios": len(shares), "mean": round(mean, 4), "largest": round(largest, 4)}
    value = f"{len(shares)} scenarios: mean {mean:.4f}, largest {largest:.4f} (simulation error {error:.4f})"
    check(f"{name} ≤ {most}", value, largest <= most + error)


def ppi(rng: np.random.Generator) -> None:
    """Check corrected rates."""
    for n in (100, 300):
        for name, judge in JUDGES.items():
            covered = ppi_coverage(n, judge, rng)
            room = has_room(PPI_SHARES, n)
            # The mean over the shares 0.01 … 0.99, interpolated between the simulated values.
            mean = float(np.interp(SHARES, PPI_SHARES, covered).mean())
            value = f"mean {mean:.3f}, least where np ≥ 5 {covered[room].min():.3f}"
            holds = 0.93 <= mean <= 0.97 and covered[room].min() >= 0.90
            check(f"PPI, {n} labels, {name} judge: mean 0.93–0.97, least ≥ 0.90", value, holds)


def within(covered: Floats, room: NDArray[np.bool_]) -> bool:
    """Return whether the coverage is within its bounds."""
    return bool(0.93 <= covered.mean() <= 0.97 and covered[room].min() >= 0.90)


def tests() -> None:
    """Check the size of McNemar's test."""
    size = 0.0
    for n in (100, 300):
        for discordance in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8):
            size = max(size, paired_power(n, 0.0, discordance))
    check("McNemar, 12 designs without a difference: size ≤ 0.05", f"largest {size:.4f}", size <= 0.05)


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
    """Print all figures; exit with code 1 if one is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated runs per scenario")
    parser.add_argument("--parts", default=",".join((*PARTS, "methods")), help="parts to measure")
    parser.add_argument("--write", type=Path, help="file whose figures are replaced by the new ones")
    asked = parser.parse_args()
    generator = np.random.default_rng(0)
    parts = asked.parts.split(",")
    for name, measure in PARTS.items():
        if name in parts:
            measure(generator, asked.runs)
    if asked.write:
        before = json.loads(asked.write.read_text("utf-8"))["figures"] if asked.write.is_file() else {}
        asked.write.write_text(json.dumps({"figures": before | figures}, indent=1) + "\n", "utf-8")
    if "methods" in parts:
        rates()
        ppi(generator)
        tests()
        plans(generator)
    sys.exit(bool(failures))

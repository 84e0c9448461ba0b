"""Measure how often intervals contain the true value, how often tests err, and whether sample sizes suffice.

Figures are exact if the outcomes can be enumerated (one trial per question, McNemar's size and power), and simulated
otherwise. The exit code is 1 if a figure is out of its bounds. `--write` stores the figures in
docs/project/measured/stats_coverage.json and writes the tables in docs/explanation/statistics.md; a test compares the
two.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benches import ROOT
from benches.coverage_scenarios import (
    Rng,
    Scenario,
    clustered_rates,
    curves,
    differences,
    judges,
    lengths,
    one_trial,
    quantities,
    refusals,
)
from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Comparison, Side, compare
from ragbed.analysis.gates import check_declines, check_floors, parse_floor
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.statistics.planning import paired_power
from ragbed.analysis.statistics.rates import ALPHA, Interval, clustered_wilson
from ragbed.analysis.statistics.testing import Floats, probabilities, sign_test
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.schema import Estimate

MEASURED = ROOT / "docs/project/measured/stats_coverage.json"
PAGE = ROOT / "docs/explanation/statistics.md"
_MARKER, _END = "<!-- from measured/stats_coverage.json -->", "<!-- end -->"
SHARES = np.arange(1, 100) / 100
# The families of scenarios, and how many times as many runs as asked are simulated of each; those of metrics are slow.
_FAMILIES: dict[str, tuple[Callable[[bool], Iterator[Scenario]], int]] = {
    "rates": (clustered_rates, 5),
    "differences": (differences, 5),
    "judges": (judges, 4),
    "quantities": (quantities, 2),
    "refusals": (refusals, 1),
    "lengths": (lengths, 1),
    "curves": (curves, 1),
}
_NAMES = {"rate": "rates, positions and events", "change": "paired changes"}
_LEAST, _MEAN = 0.93, (0.94, 0.97)
_NEAR, _MORE = 0.945, 6  # scenarios with a lower coverage are simulated again, with this many times as many runs
_NEAR_ALARMS = 0.02  # the same for false alarms
_HERE = ComparedCondition("d", "en", "noise", 0.4, 0.0, 5, "related")
failures: list[str] = []


class Coverage(NamedTuple):
    """The coverage of an interval in one scenario; `runs` is 0 if it is exact."""

    name: str
    share: float
    runs: int
    has_room: bool


def check(name: str, value: str, holds: bool) -> None:
    """Print a figure, and record it if it is out of bounds."""
    print(f"{'ok  ' if holds else 'FAIL'}  {name:<58} {value}", flush=True)
    if not holds:
        failures.append(name)


def exact_coverage(interval: Callable[[int, int], Interval], n: int) -> Floats:
    """Return the coverage at every share, computed from the interval for every outcome."""
    found = [interval(hits, n) for hits in range(n + 1)]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    return np.array([probabilities(n, share)[(low <= share) & (share <= high)].sum() for share in SHARES])


def simulate(scenarios: Iterable[Scenario], rng: Rng, runs: int) -> dict[str, list[Coverage]]:
    """Return the coverage of every value in every scenario."""
    found: dict[str, list[Coverage]] = {}
    for scenario in scenarios:
        shares = _count_covered(scenario, rng, runs)
        least = min(shares.values())
        count = runs if least >= _NEAR else _MORE * runs
        shares = shares if least >= _NEAR else _count_covered(scenario, rng, count)
        for name, share in shares.items():
            coverage = Coverage(f"{scenario.name}, n = {scenario.n}", share, count, scenario.has_room)
            found.setdefault(_NAMES.get(name, name), []).append(coverage)
    return found


def _count_covered(scenario: Scenario, rng: Rng, runs: int) -> dict[str, float]:
    """Return the share of runs in which each interval contains the true value. Undefined values do not count."""
    covered, defined = dict.fromkeys(scenario.truth, 0), dict.fromkeys(scenario.truth, 0)
    for _ in range(runs):
        for name, interval in scenario.draw(rng).items():
            defined[name] += bool(np.isfinite(interval.low))
            covered[name] += interval.low <= scenario.truth[name] <= interval.high
    return {name: covered[name] / max(1, count) for name, count in defined.items()}


def summarise(name: str, rows: list[Coverage]) -> dict[str, float | str]:
    """Print and check the coverage of an interval over its scenarios, and return the figures."""
    worst = min(rows, key=lambda row: row.share)
    room = [row.share for row in rows if row.has_room]
    mean = float(np.mean(room)) if room else float("nan")
    error = 2 * (_LEAST * (1 - _LEAST) / worst.runs) ** 0.5 if worst.runs else 0.0
    value = f"{len(rows)} scenarios, {len(room)} with room: mean {mean:.3f}, least {worst.share:.3f} ({worst.name})"
    holds = worst.share >= _LEAST - error and (not room or _MEAN[0] <= round(mean, 3) <= _MEAN[1])
    check(f"{name}: mean {_MEAN[0]}–{_MEAN[1]}, least ≥ {_LEAST}", value, holds)
    return {
        "scenarios": len(rows),
        "room": len(room),
        "mean": round(mean, 3),
        "least": round(worst.share, 3),
        "worst": worst.name,
        "runs": min(row.runs for row in rows),
    }


def floor_alarms(rng: Rng, runs: int) -> Iterator[tuple[str, float]]:
    """Yield how often `--fail-under` fails although the true rate equals the minimum."""
    for scenario in (*clustered_rates(False), *clustered_rates(True)):
        share = scenario.truth["rate"]
        if share >= 0.5:
            alarms = _count_alarms(scenario, share, rng, runs) / runs
            if alarms > _NEAR_ALARMS:
                alarms = _count_alarms(scenario, share, rng, _MORE * runs) / (_MORE * runs)
            yield scenario.name, alarms


def _count_alarms(scenario: Scenario, share: float, rng: Rng, runs: int) -> int:
    gate, failed, key = [parse_floor(f"noise.accuracy={share}")], 0, TrialGroup("m", "d", "en", "robust")
    assert scenario.draw_sums is not None
    for _ in range(runs):
        sums = scenario.draw_sums(rng)
        value, low, high = clustered_wilson(sums.totals.tolist(), sums.sizes.tolist())
        counts = dict.fromkeys(("n", "questions", "asked"), scenario.n)
        if value < share:
            estimate = Estimate(metric="accuracy", value=value, low=low, high=high, errors=0, infeasible=0, **counts)
            cell = Cell("noise", key, "robust", "all", estimate, {"noise": 0.8, "k": 5}, sums)
            failed += check_floors(gate, [cell])[0].state == "failed"
    return failed


def minimal_pairs(rng: Rng, runs: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield the coverage, test size and false alarms of `compare` for events with three correlated questions."""
    for n in (20, 60):
        for flips in (0.1, 0.3):
            loss = 0.16 * 0.8 * flips  # for side B, whose events change with probability `flips`
            changed = [_compare(rng, n, (0.0, flips), loss) for _ in range(runs)]
            same = [_compare(rng, n, (flips, flips), loss) for _ in range(runs)]
            covered = sum(row.difference.low <= -loss <= row.difference.high for row in changed)
            size = sum(row.p < ALPHA for row in same)
            alarms = sum(check_declines([row], loss)[0].state == "failed" for row in changed)
            yield f"{flips} change, n = {n}", covered / runs, size / runs, alarms / runs


def _compare(rng: Rng, n: int, flips: tuple[float, float], least: float) -> Comparison:
    """Compare verdicts on three questions for each of n events, with an error in every tenth verdict."""
    ability, sides = rng.random((n, 1)) < 0.6, []
    for share in flips:
        moved = (rng.random((n, 1)) < share) & (rng.random((n, 3)) < 0.8)
        scores = {
            ComparedQuestion(f"{event}-{number}", f"{event}-{number}?", (("a",),), str(event)): float(verdict)
            for event, row in enumerate((ability ^ moved ^ (rng.random((n, 3)) < 0.1)).tolist())
            for number, verdict in enumerate(row)
        }
        sides.append(Side(Path(), "m", {_HERE: scores}))
    first, second = sides
    return compare(first, second, least)[0]


def check_alarms(name: str, shares: list[float], most: float, runs: int) -> dict[str, float | str]:
    """Print and check how often a test errs, and return the figures."""
    error = 2 * (most * (1 - most) / runs) ** 0.5
    largest, mean = max(shares), float(np.mean(shares))
    check(
        f"{name} ≤ {most}", f"{len(shares)} scenarios: mean {mean:.4f}, largest {largest:.4f}", largest <= most + error
    )
    return {"runs": runs, "scenarios": len(shares), "mean": round(mean, 4), "largest": round(largest, 4)}


def check_power(rng: Rng) -> None:
    """Check the size of McNemar's test, and compare the computed power with simulations."""
    runs, designs = 200_000, product((100, 300), (0.02, 0.05, 0.1, 0.2, 0.4, 0.8))
    size = max(paired_power(n, 0.0, discordance) for n, discordance in designs)
    check("McNemar, 12 designs without a difference: size ≤ 0.05", f"largest {size:.4f}", size <= 0.05)
    for n, drop, discordance in ((696, 0.03, 0.08), (312, 0.05, 0.1), (155, 0.1, 0.2), (234, 0.1, 0.3)):
        drawn = rng.multinomial(n, [(discordance + drop) / 2, (discordance - drop) / 2, 1 - discordance], size=runs)
        seen, computed = float((sign_test(drawn[:, 0], drawn[:, 1]) < 0.05).mean()), paired_power(n, drop, discordance)
        name = f"power, paired, n = {n}, drop {drop}: within 0.02"
        check(name, f"computed {computed:.4f}, simulated {seen:.4f}", abs(computed - seen) <= 0.02)


def render_tables() -> str:
    """Return the tables of interval coverage and of test errors, between their markers."""
    return "\n".join([_MARKER, "", *_coverage_tables(json.loads(MEASURED.read_text("utf-8"))["figures"]), "", _END])


def _coverage_tables(figures: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield "| Interval | Runs each | Used: scenarios, mean, lowest | Held out: scenarios, mean, lowest (where) |"
    yield "|---|---|---|---|"
    for name, figure in figures.items():
        if "held out" in figure:
            used, held_out = (_coverage(figure[label]) if label in figure else "–" for label in ("used", "held out"))
            runs = f"{figure['held out']['runs']:,}" if figure["held out"]["runs"] else "exact"
            yield f"| {name} | {runs} | {used} | {held_out} ({figure['held out']['worst']}) |"
    yield ""
    yield "| Test or gate | Scenarios | Runs each | Mean error | Largest error |"
    yield "|---|---|---|---|---|"
    for name, figure in figures.items():
        if "largest" in figure:
            shares = f"{100 * figure['mean']:.1f}% | {100 * figure['largest']:.1f}%"
            yield f"| {name} | {figure['scenarios']} | {figure['runs']:,} | {shares} |"


def _coverage(figure: dict[str, Any]) -> str:
    mean = "–" if not figure["room"] else f"{100 * figure['mean']:.1f}%"
    return f"{figure['scenarios']}, {mean}, {100 * figure['least']:.1f}%"


def main() -> None:
    """Print all figures; exit with code 1 if one is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="simulated runs per scenario")
    parser.add_argument("--parts", default=",".join((*_FAMILIES, "gates", "power")), help="parts to measure")
    parser.add_argument("--write", action="store_true", help="replace the figures and tables in the docs")
    asked = parser.parse_args()
    rng, parts = np.random.default_rng(0), asked.parts.split(",")
    figures: dict[str, dict[str, object]] = {}
    for held_out, label in ((False, "used"), (True, "held out")):
        if "rates" in parts:
            rows = [Coverage(f"{name}, n = {n}", share, 0, room) for name, n, share, room in one_trial(held_out)]
            name = "rates, one trial per question"
            figures.setdefault(name, {})[label] = summarise(f"{name} ({label})", rows)
        for family in parts:
            if family in _FAMILIES:
                scenarios, times = _FAMILIES[family]
                for name, rows in simulate(scenarios(held_out), rng, times * asked.runs).items():
                    figures.setdefault(name, {})[label] = summarise(f"{name} ({label})", rows)
    if "gates" in parts:
        found = list(minimal_pairs(rng, 2 * asked.runs))
        rows = [Coverage(name, covered, 2 * asked.runs, True) for name, covered, _, _ in found]
        figures["compare, minimal pairs"] = {"held out": summarise("compare, minimal pairs", rows)}
        for name, at, most in (("compare, minimal pairs: size", 2, 0.05), ("--fail-if-worse: false alarms", 3, 0.025)):
            figures[name] = {**check_alarms(name, [float(row[at]) for row in found], most, 2 * asked.runs)}
        alarms = dict(floor_alarms(rng, asked.runs))
        print("      --fail-under: most false alarms:", max(alarms.items(), key=lambda one: one[1]))
        name = "--fail-under: false alarms"
        figures[name] = {**check_alarms(name, [*alarms.values()], 0.025, asked.runs)}
    if "power" in parts:
        check_power(rng)
    if asked.write:
        before = json.loads(MEASURED.read_text("utf-8"))["figures"]
        MEASURED.write_text(json.dumps({"figures": before | figures}, indent=1) + "\n", "utf-8")
        text = PAGE.read_text("utf-8")
        start, end = text.index(_MARKER), text.index(_END) + len(_END)
        PAGE.write_text(text[:start] + render_tables() + text[end:], "utf-8")
    sys.exit(bool(failures))

"""Simulate the errors and savings of monitored runs (`ragbed run --until`).

Each scenario simulates runs that are examined after every question. An error is an interval that excludes the true
value at any time up to 1.3 × the fixed plan of `ragbed.power`, or a wrong decision. Calls saved are relative to that
plan. The exit code is 1 if an error rate exceeds 5 %, or if the median of the calls saved is below 50 % for a true drop
of 2 × the drop of the plan, or below 80 % for 4 ×.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benches import check_figure
from ragbed.analysis.statistics.planning import paired_size
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.analysis.statistics.sequential import STAKES, difference_sequence, log_growth, rate_sequence

Floats = NDArray[np.float64]
_EXCESS = 1.3
_NEEDED = math.log(2 / ALPHA)
_SPOT_CHECKS = 20  # number of simulated runs per scenario whose intervals are also computed by the package's functions
_SAVED = {2: 0.5, 4: 0.8}  # minimum median of the calls saved, by the true drop as a multiple of the planned one


class Scenario(NamedTuple):
    """A distribution of scores per question, from 0 to 1, or of differences as (difference + 1) / 2."""

    name: str
    levels: tuple[float, ...]
    chances: tuple[float, ...]
    plan: int
    drop: float | None = None  # for a comparison, the drop that the plan assumes
    times: float = 0  # the true drop as a multiple of the planned one

    @property
    def mean(self) -> float:
        """The true mean."""
        return float(np.dot(self.levels, self.chances))


def scenarios() -> Iterator[Scenario]:
    """Yield rates and paired comparisons, with one trial per question and with several."""
    for p in (0.05, 0.2, 0.5, 0.8, 0.95):
        plan = 1_000
        yield Scenario(f"rate {p:g}", (0.0, 1.0), (1 - p, p), plan)
        yield Scenario(f"rate {p:g}, 3 trials per question", *_clustered(p), plan)
    for drop in (0.05, 0.1):
        for discordance in (0.1, 0.2, 0.4):
            for times in (0, 0.5, 1, 2, 4):
                if times * drop <= discordance >= drop:
                    yield _paired(drop, discordance, times)
    for times in (0, 1, 2):
        plain = _paired(0.1, 0.4, times)
        yield _doubled(plain)


def _clustered(p: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the distribution of the mean of three trials, half of which repeat the first one."""
    same, single = 0.5, [math.comb(3, k) * p**k * (1 - p) ** (3 - k) for k in range(4)]
    chances = [(1 - same) * chance for chance in single]
    chances[0] += same * (1 - p)
    chances[3] += same * p
    return tuple(k / 3 for k in range(4)), tuple(chances)


def _paired(drop: float, discordance: float, times: float) -> Scenario:
    lost, won = (discordance + times * drop) / 2, (discordance - times * drop) / 2
    name = f"drop {drop:g} × {times:g}, discordance {discordance:g}"
    return Scenario(name, (0.0, 0.5, 1.0), (lost, 1 - discordance, won), paired_size(drop, discordance), drop, times)


def _doubled(scenario: Scenario) -> Scenario:
    """Return the scenario that uses the mean of two independent differences per question."""
    lost, same, won = scenario.chances
    chances = (lost**2, 2 * lost * same, same**2 + 2 * lost * won, 2 * same * won, won**2)
    name = f"{scenario.name}, 2 trials per question"
    return scenario._replace(name=name, levels=(0.0, 0.25, 0.5, 0.75, 1.0), chances=chances)


def wealth(scores: Floats, mean: float) -> Floats:
    """Return the log wealth after every question in every run, for bets that scores exceed a mean."""
    levels, which = np.unique(scores, return_inverse=True)
    growth = log_growth(levels, np.ones(len(levels)), mean)
    total = np.full(scores.shape, -math.inf)
    for row in growth:
        np.logaddexp(total, np.cumsum(row[which.reshape(scores.shape)], axis=1), out=total)
    return total - math.log(len(STAKES))


def uneven_errors(runs: int) -> Iterator[tuple[str, float]]:
    """Yield the error rate at any stopping time for rates over events of very different sizes, in a planned order.

    In some scenarios, large events are harder, and the order of sizes is random.
    """
    rng = np.random.default_rng(0)
    orders = {
        "small events first": np.repeat([1, 10], [300, 30]),
        "large events first": np.repeat([10, 1], [30, 300]),
        "every tenth event large": np.resize([1] * 9 + [20], 400),
    }
    for (name, sizes), p, same in product(orders.items(), (0.05, 0.3, 0.7, 0.95), (0.0, 1.0)):
        together = rng.random((runs, len(sizes))) < same
        hits = np.where(together, sizes * (rng.random(together.shape) < p), rng.binomial(sizes, p, together.shape))
        yield f"{name}, rate {p:g}, correlation {same:g}", _misses(hits, np.broadcast_to(sizes, hits.shape), p)
    for small, large in ((0.9, 0.4), (0.2, 0.7)):
        sizes = np.where(rng.random((runs, 400)) < 0.1, 20, 1)
        hits = rng.binomial(sizes, np.where(sizes == 1, small, large))
        mean = (0.9 * small + 0.1 * 20 * large) / (0.9 + 0.1 * 20)
        yield f"random order, rate {small:g} in small and {large:g} in large events", _misses(hits, sizes, mean)


def _misses(hits: NDArray[np.int64], sizes: NDArray[np.int64], mean: float) -> float:
    """Return the share of runs in which the rate is excluded after any event."""
    missed = np.zeros(len(hits), np.bool_)
    for won, target in ((hits, mean), (sizes - hits, 1 - mean)):
        total = np.full(hits.shape, -math.inf)
        pairs, which = np.unique(np.stack([won.ravel(), sizes.ravel()]) / sizes.max(), axis=1, return_inverse=True)
        for row in log_growth(pairs[0], pairs[1], target):
            np.logaddexp(total, np.cumsum(row[which.reshape(hits.shape)], axis=1), out=total)
        missed |= (total - math.log(len(STAKES)) >= _NEEDED).any(axis=1)
    for row, size, is_missed in zip(hits[:_SPOT_CHECKS], sizes, missed.tolist(), strict=False):
        interval = rate_sequence(row, size, largest=float(sizes.max()))
        if not interval.low <= mean <= interval.high and not is_missed:
            sys.exit(f"the simulation differs from {interval}")
    return float(missed.mean())


def first_time(hit: NDArray[np.bool_]) -> Floats:
    """Return the number of questions after which each run first has a property, or infinity if it never does."""
    return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, math.inf)


def simulate(scenario: Scenario, runs: int, seed: int) -> tuple[float, float | None, float | None]:
    """Return the error rate, the median of the calls saved, and the share of inconclusive runs."""
    rng, size = np.random.default_rng(seed), math.ceil(_EXCESS * scenario.plan)
    which = np.searchsorted(np.cumsum(scenario.chances)[:-1], rng.random((runs, size)))
    scores = np.array(scenario.levels)[which]
    missed = (wealth(scores, scenario.mean) >= _NEEDED) | (wealth(1 - scores, 1 - scenario.mean) >= _NEEDED)
    errors = missed.any(axis=1)
    spot_check(scenario, scores[:_SPOT_CHECKS], missed[:_SPOT_CHECKS])
    if scenario.drop is None:
        return float(errors.mean()), None, None
    worse = first_time(wealth(1 - scores, 0.5) >= _NEEDED)
    excluded = first_time(wealth(scores, (1 - scenario.drop) / 2) >= _NEEDED)
    decided = np.minimum(worse, excluded)
    if scenario.times == 0:
        errors |= worse < excluded
    if scenario.times >= 1:
        errors |= excluded < worse
    saved = 1 - np.minimum(decided, size) / scenario.plan
    return float(errors.mean()), float(np.median(saved)), float((decided > size).mean())


def spot_check(scenario: Scenario, scores: Floats, missed: NDArray[np.bool_]) -> None:
    """Check that the package's functions exclude the true value at the same times as the simulation."""
    at = scores.shape[1] - 1
    for row, is_missed in zip(scores, missed[:, at].tolist(), strict=True):
        if scenario.drop is None:
            interval, mean = rate_sequence(row, np.ones(len(row))), scenario.mean
        else:
            interval, mean = difference_sequence(2 * row - 1), 2 * scenario.mean - 1
        if (not interval.low <= mean <= interval.high) != is_missed:
            sys.exit(f"{scenario.name}: the simulation differs from {interval}")


def main() -> int:
    """Run all scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2_000, help="simulated runs per scenario")
    options = parser.parse_args()
    passed, worst, count, savings = [], 0.0, 0, dict[int, list[float]]()
    for seed, scenario in enumerate(scenarios()):
        errors, saved, open_share = simulate(scenario, options.repetitions, seed)
        worst, count = max(worst, errors), count + 1
        shown = (
            "" if saved is None else f", calls saved {100 * saved:5.1f} %, inconclusive {100 * (open_share or 0):.1f} %"
        )
        print(f"{scenario.name:48} errors {100 * errors:.2f} %{shown}", flush=True)
        if scenario.times in _SAVED and saved is not None:
            savings.setdefault(int(scenario.times), []).append(saved)
    for name, errors in uneven_errors(options.repetitions):
        worst, count = max(worst, errors), count + 1
        print(f"{name:48} errors {100 * errors:.2f} %", flush=True)
    passed.append(check_figure(f"highest error rate of {count} scenarios", worst, ALPHA))
    for times, least in _SAVED.items():
        saved = float(np.median(savings[times]))
        title = f"median share of calls saved at {times} × the drop (lowest scenario: {min(savings[times]):.3f})"
        passed.append(check_figure(title, saved, 1.0, minimum=least))
    return 0 if all(passed) else 1

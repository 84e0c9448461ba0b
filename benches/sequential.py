"""Simulate the errors and savings of monitored runs (`ragbed run --until`); with --demo, evaluate two local models.

Each scenario simulates runs that are examined after every question. An error is an interval that excludes the true
value at any time up to 1.3 × the fixed plan of `ragbed.power`, or a wrong decision. Calls saved are relative to that
plan. The exit code is 1 if an error rate exceeds 5 %, or if the median of the calls saved is below 50 % for a true drop
of 2 × the drop of the plan, or below 80 % for 4 ×.

`--demo` compares a model with a baseline on synthetic data, twice: with the fixed plan, and with `--until`. Besides
model strings, it takes `noisy/P`, a model that gives the correct answer with probability P and refuses otherwise, which
needs no CPU time; `--model noisy/0.65 --base noisy/0.85` takes seconds. With `--data FILE`, it uses all questions of a
file in all positions, so that `replay/FILE` can replay the runs of study/record.sh.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benches import check_figure
from ragbed.analysis.statistics.planning import paired_size
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.analysis.statistics.sequential import STAKES, difference_sequence, log_growth, rate_sequence
from ragbed.interop.replay import ReplayModel
from ragbed.models.base import StatelessModel
from ragbed.models.scripted import ScriptedModel
from ragbed.schema import Case, Completion

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
    """Run all scenarios, or the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2_000, help="simulated runs per scenario")
    parser.add_argument("--demo", action="store_true", help="evaluate local models instead")
    parser.add_argument("--model", default="bundled/smollm2", help="model of the demonstration")
    parser.add_argument("--base", default="baseline/lexical", help="baseline of the demonstration")
    parser.add_argument("--data", type=Path, help="dataset of the demonstration; generated by default")
    options = parser.parse_args()
    if options.demo:
        return demonstrate(options.model, options.base, options.data)
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


class NoisyModel(StatelessModel):
    """A model that gives the correct answer with some probability and refuses otherwise."""

    concurrency = 1  # as for a local model; calls in flight would count after the decision

    def __init__(self, name: str) -> None:
        self.name, self._chance = name, float(name.partition("/")[2])
        self._right, self._wrong = ScriptedModel("oracle"), ScriptedModel("refuser")

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Return the correct answer or a refusal, depending on a hash of the model's name and the case."""
        digest = hashlib.sha256(f"{self.name} {case.case}".encode()).digest()
        is_right = int.from_bytes(digest[:4], "big") < self._chance * 2**32
        return await (self._right if is_right else self._wrong).complete(case, repeat)

    def request(self, case: Case) -> bytes:
        """Return the prompt's hash, since responses depend on the case alone."""
        return self._right.request(case)

    async def identity(self) -> str:
        """Return the name."""
        return self.name


def _open_model(name: str) -> Any:  # noqa: ANN401 - a model object or a model string
    """Return a model that makes one call at a time, so that no calls are in flight when a run is decided."""
    if name.startswith("noisy/"):
        return NoisyModel(name)
    if not name.startswith("replay/"):
        return name
    model = ReplayModel(name.removeprefix("replay/"))
    model.concurrency = 1
    return model


def _calls(run: Any) -> int:  # noqa: ANN401 - a run
    return sum(count for outcome, count in run.outcomes.items() if outcome != "pending")


def demonstrate(model_name: str, base_name: str, file: Path | None, noise: float = 0.4, drop: float = 0.1) -> int:
    """Compare a model with a baseline, first with the fixed plan and then with `--until`, and print both results."""
    import ragbed  # noqa: PLC0415 - the simulation does not need it

    plan = paired_size(drop, 4 * drop)
    model, base = map(_open_model, (model_name, base_name))
    model_name, base_name = (Path(name).name.partition(".synthetic")[0] for name in (model_name, base_name))
    print(f"{model_name} minus {base_name}; the plan for a drop of {100 * drop:g} points has {plan} questions")
    options: dict[str, Any] = {
        "testbeds": "noise", "noise": noise, "cache": "off", "max_connections": 1, "progress": False,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if file is None:
            made = ragbed.synthesize(
                place / "data", items=plan, integration=0, counterfactual=0, lang="en", progress=False
            )
            data = {"synthetic": str(next(made.folder.glob("*base*.jsonl")))}
        else:
            data = {file.stem: str(file)}
            options |= {"positions": "all", "max_tokens": 128}  # as in study/record.sh
        ragbed.run(base, data, out=place / "base", **options)
        start = time.perf_counter()
        fixed = ragbed.run(model, data, out=place / "fixed", **options)
        middle = time.perf_counter()
        until = f"compare:{place / 'base'}:drop {100 * drop:g}%"
        monitored = ragbed.run(model, data, out=place / "monitored", until=until, **options)
        seconds = middle - start, time.perf_counter() - middle
        (row,) = ragbed.compare(place / "base", fixed).records()
        low, high = 100 * row["low"], 100 * row["high"]
        shown = f"{100 * row['difference']:+.1f} [{low:+.1f}, {high:+.1f}] points, p {row['p']:.2g}"
        print(f"fixed plan  {_calls(fixed):5} calls, {seconds[0]:6.1f} s: {shown}, {row['n']} questions")
        for row in monitored.conditions:
            decision = f"{row['state']}: {row['message']}".replace(str(place / "base"), base_name)
            print(f"--until     {_calls(monitored):5} calls, {seconds[1]:6.1f} s: {decision}")
    return 0

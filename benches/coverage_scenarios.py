"""Scenarios for `python -m benches stats_coverage`: simulated designs, each with its true values.

Questions differ in difficulty. A question can have several trials (positions, noise ratios), and an event can have
several questions, whose verdicts are correlated. The scenarios of a family differ by whether they are held out: the
constants in `ragbed.analysis.statistics` were chosen with scenarios that are not, and the held-out ones have other
numbers of questions, rates, cluster sizes and distributions of the difficulty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from ragbed.analysis.metrics import METRICS
from ragbed.analysis.metrics.cells import CellBuilder, interval_of
from ragbed.analysis.statistics.labels import agreement, prediction_powered
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.analysis.statistics.testing import ClusterSums, Floats, probabilities
from ragbed.analysis.trials.columns import Trial, group_rows
from ragbed.scoring.value import Value

SIZES = ((20, 30, 50, 100, 300), (25, 40, 80, 150, 400))
SHARES = ((0.05, 0.2, 0.5, 0.7, 0.9, 0.95), (0.03, 0.15, 0.4, 0.85, 0.98))
FLIPS = (
    ((0.02, 0.02), (0.1, 0.1), (0.3, 0.3), (0.02, 0.08), (0.0, 0.1), (0.1, 0.4)),
    ((0.05, 0.05), (0.0, 0.04), (0.25, 0.1)),
)
_ENOUGH = 5  # number of successes and failures that must be expected for the mean coverage to count
_MANY = 400_000  # number of questions from which true values without a formula are computed
_RATIOS = np.linspace(0, 0.8, 5)
_LENGTHS = np.array([1, 5, 10, 20])

Rng: TypeAlias = np.random.Generator
Sizes: TypeAlias = NDArray[np.int64]
Values: TypeAlias = dict[str, Interval]


class Scenario(NamedTuple):
    """A design of which runs can be simulated.

    Attributes:
        name: The design.
        n: Number of questions or events.
        truth: The true values, by name of the value.
        draw: Simulates a run and returns the estimates of these values.
        has_room: Whether at least five successes and five failures are expected among independent trials.
        draw_sums: Simulates a run and returns the sums from which a gate is tested.
    """

    name: str
    n: int
    truth: Mapping[str, float]
    draw: Callable[[Rng], Values]
    has_room: bool = True
    draw_sums: Callable[[Rng], ClusterSums] | None = None


def one_trial(held_out: bool) -> Iterator[tuple[str, int, float, bool]]:
    """Yield the exact coverage of rates with one trial per question, from the interval for every number of hits."""
    for n in SIZES[held_out]:
        found = [clustered_wilson([1] * hits + [0] * (n - hits), [1] * n) for hits in range(n + 1)]
        low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
        for share in SHARES[held_out]:
            covered = probabilities(n, share)[(low <= share) & (share <= high)].sum()
            yield f"rate {share}", n, float(covered), _has_room(share, n)


def clustered_rates(held_out: bool) -> Iterator[Scenario]:
    """Yield rates for questions at several positions, and for events of similar or very different sizes."""
    patterns = (([5], [1, 1, 2, 3, 5]), ([3], [1, 2, 8]))[held_out]
    designs = [np.resize(pattern, n) for pattern in patterns for n in SIZES[held_out]] + _uneven(held_out)
    for sizes, rho, share in product(designs, ((0.0, 0.3, 1.0), (0.1, 0.6))[held_out], SHARES[held_out]):
        name, room = f"{_describe(sizes, rho)}, rate {share}", _has_room(share, _independent(sizes, rho))
        draw_sums = partial(_draw_sums, sizes, rho, share, held_out)
        yield Scenario(name, len(sizes), {"rate": share}, partial(_draw_rate, draw_sums), room, draw_sums)


def _draw_sums(sizes: Sizes, rho: float, share: float, held_out: bool, rng: Rng) -> ClusterSums:
    return ClusterSums.of(rng.binomial(sizes, _difficulties(rng, len(sizes), share, rho, held_out)), sizes)


def _draw_rate(draw_sums: Callable[[Rng], ClusterSums], rng: Rng) -> Values:
    sums = draw_sums(rng)
    return {"rate": clustered_wilson(sums.totals.tolist(), sums.sizes.tolist())}


def differences(held_out: bool) -> Iterator[Scenario]:
    """Yield paired changes of verdicts, of events whose questions can change together, and of means over trials."""
    alike = (((1, 0.0), (10, 0.3)), ((1, 0.0), (4, 0.7)))[held_out]
    designs = [(np.full(n, size), rho) for n in SIZES[held_out] for size, rho in alike]
    designs += [(sizes, rho) for sizes in _uneven(held_out) for rho in (0.0, 1.0)]
    for (sizes, rho), (up, down) in product(designs, FLIPS[held_out]):
        name, room = (
            f"{_describe(sizes, rho)}, {up} rise, {down} fall",
            _has_room(min(up, down), _independent(sizes, rho)),
        )
        yield Scenario(name, len(sizes), {"change": up - down}, partial(_draw_change, sizes, rho, up, down), room)
    means = (((2, 0, 0, -1), (5, 2, 2, 0), (5, 8, 0, -1)), ((3, 1, 1, -0.5), (7, 4, 0, 0)))[held_out]
    for n, (m, *design) in product(SIZES[held_out], means):
        before, after = _abilities(np.random.default_rng(1), _MANY, *design)
        truth = {"change": float((expit(after) - expit(before)).mean())}
        yield Scenario(f"means of {m}, {design}", n, truth, partial(_draw_mean_change, n, m, design))


def _draw_change(sizes: Sizes, rho: float, up: float, down: float, rng: Rng) -> Values:
    events = np.repeat(np.arange(len(sizes)), sizes)
    together = (rng.random(len(sizes)) < rho)[events]
    drawn = np.where(together, rng.random(len(sizes))[events], rng.random(len(events)))
    moved = (drawn < up).astype(float) - ((drawn >= up) & (drawn < up + down))
    return {"change": paired_difference(moved, clusters=events)}


def _draw_mean_change(n: int, m: int, design: Sequence[float], rng: Rng) -> Values:
    before, after = _abilities(rng, n, *design)
    return {"change": paired_difference((rng.binomial(m, expit(after)) - rng.binomial(m, expit(before))) / m)}


def _abilities(rng: Rng, n: int, spread: float, base: float, effect: float) -> tuple[Floats, Floats]:
    """Return the log odds of a right answer before and after a change that affects the questions differently."""
    before = base + spread * rng.standard_normal(n)
    return before, before + effect + spread * rng.standard_normal(n) / 2


def curves(held_out: bool) -> Iterator[Scenario]:
    """Yield the area under an accuracy curve, and the change from its first to its last point."""
    shapes = (((0.0, 1.0), (3.0, 3.0)), ((1.0, 4.0), (5.0, 1.0)))[held_out]
    for n, spread, (base, fall) in product(SIZES[held_out][::2], (0.0, 1.5, 4.0), shapes):
        levels = base - fall * _RATIOS
        extra = spread * np.random.default_rng(1).standard_normal(_MANY)
        rates = [float(expit(level + extra).mean()) for level in levels]
        area = float(np.trapezoid(rates, _RATIOS) / (_RATIOS[-1] - _RATIOS[0]))
        truth = {"area under a curve": area, "change along a curve": rates[-1] - rates[0]}
        name = f"spread {spread}, from {base} by {fall}"
        room = min(n * min(rate, 1 - rate) for rate in rates) >= _ENOUGH
        yield Scenario(name, n, truth, partial(_draw_curve, n, spread, levels), room)


def _draw_curve(n: int, spread: float, levels: Floats, rng: Rng) -> Values:
    right = rng.random((n, len(levels))) < expit(spread * rng.standard_normal((n, 1)) + levels)
    trials = [
        _trial(item, "noise", ratio, {"correct": bool(verdict)})
        for item, row in enumerate(right)
        for ratio, verdict in zip(_RATIOS.tolist(), row, strict=True)
    ]
    found = _measure("noise", trials)
    return {"area under a curve": found["auc"], "change along a curve": found["change"]}


def refusals(held_out: bool) -> Iterator[Scenario]:
    """Yield F1 and balanced accuracy of refusals, for the same questions twice."""
    rates = (((0.97, 0.03), (0.9, 0.3), (0.8, 0.05), (1.0, 0.05)), ((0.3, 0.05), (0.6, 0.6), (0.95, 0.1)))[held_out]
    for n, (due, undue), alike in product(SIZES[held_out][1::2], rates, (False, True)):
        truth = {"F1": 2 * due / (1 + due + undue), "balanced accuracy": (due + 1 - undue) / 2}
        name = f"{due} and {undue}" + (", correlated" if alike else "")
        room = _has_room(due, n) and _has_room(undue, n)
        yield Scenario(name, n, truth, partial(_draw_refusals, n, due, undue, alike), room)


def _draw_refusals(n: int, due: float, undue: float, alike: bool, rng: Rng) -> Values:
    first = rng.random(n)
    second = first if alike else rng.random(n)
    trials = [_trial(item, "rejection", 1.0, {"refused": bool(one < due)}) for item, one in enumerate(first)]
    trials += [_trial(item, "noise", 0.0, {"refused": bool(one < undue)}) for item, one in enumerate(second)]
    found = _measure("rejection", trials)
    return {"F1": found["refusal_f1"], "balanced accuracy": found["balanced_accuracy"]}


def lengths(held_out: bool) -> Iterator[Scenario]:
    """Yield the slope per doubling of the number of documents, and the loss in the middle of the prompt."""
    for n, decline, dip in product(SIZES[held_out][2:], ((0.0, 0.6), (0.3,))[held_out], ((0.0, 1.5), (3.0,))[held_out]):
        hits, part = _draw_by_length(np.random.default_rng(1), _MANY, decline, dip)
        doublings = np.log2(_LENGTHS) - np.log2(_LENGTHS).mean()
        last = [float(hits[part[:, -1] == at, -1].mean()) for at in range(5)]
        truth = {
            "slope": float(hits.mean(axis=0) @ doublings / (doublings @ doublings)),
            "loss in the middle": (last[0] + last[4]) / 2 - last[2],
        }
        room = _has_room(last[2], n / 5)
        yield Scenario(f"decline {decline}, dip {dip}", n, truth, partial(_draw_lengths, n, decline, dip), room)


def _draw_by_length(rng: Rng, n: int, decline: float, dip: float) -> tuple[Floats, Sizes]:
    """Return verdicts by question and number of documents, and the fifth of the prompt with the answer."""
    part = (np.arange(n)[:, None] + rng.integers(5, size=(1, len(_LENGTHS)))) % 5
    level = 1.5 - decline * np.log2(_LENGTHS) - dip * (1 - np.abs(part - 2) / 2) + rng.standard_normal((n, 1))
    return (rng.random(level.shape) < expit(level)).astype(np.float64), part


def _draw_lengths(n: int, decline: float, dip: float, rng: Rng) -> Values:
    hits, part = _draw_by_length(rng, n, decline, dip)
    trials = [
        _trial(item, "length", 1 - 1 / k, {"correct": bool(hit)}, k=k, slots=(int(at) * k // 5,))
        for item, (row, parts) in enumerate(zip(hits, part, strict=True))
        for k, hit, at in zip(_LENGTHS.tolist(), row, parts, strict=True)
    ]
    found = _measure("length", trials)
    return {"slope": found["slope_per_doubling"], "loss in the middle": found["middle_loss"]}


def quantities(held_out: bool) -> Iterator[Scenario]:
    """Yield a mean per case, such as tokens, and a ratio to the number of right answers."""
    for n, share, spread in product(
        SIZES[held_out][1:], ((0.3, 0.8), (0.5,))[held_out], ((0.3, 1.0), (0.6,))[held_out]
    ):
        mean = float(np.exp(spread**2 / 2))
        truth = {"mean of a quantity": mean, "quantity per right answer": mean / share}
        name = f"spread {spread}, {share} right"
        yield Scenario(name, n, truth, partial(_draw_quantities, n, share, spread), _has_room(share, n))


def _draw_quantities(n: int, share: float, spread: float, rng: Rng) -> Values:
    spent, right = np.exp(spread * rng.standard_normal(n)), rng.random(n) < share
    trials = [
        _trial(
            item,
            "search",
            None,
            {"correct": bool(verdict), "search_calls": float(one), "search_tokens": float(one)},
            arm="complete",
        )
        for item, (one, verdict) in enumerate(zip(spent, right, strict=True))
    ]
    found = _measure("search", trials)
    return {"mean of a quantity": found["searches"], "quantity per right answer": found["tokens_per_correct"]}


def judges(held_out: bool) -> Iterator[Scenario]:
    """Yield a judge's agreement with labels, and a rate that is corrected with labels for n of 1,000 responses."""
    kinds = (((0.9, 0.95), (0.99, 0.99), (0.7, 0.8)), ((0.85, 0.85), (0.97, 0.9)))[held_out]
    for n, share, (hit, reject) in product(
        ((100, 300), (80, 200))[held_out], ((0.1, 0.5), (0.3, 0.8))[held_out], kinds
    ):
        observed, judged = share * hit + (1 - share) * reject, share * hit + (1 - share) * (1 - reject)
        by_chance = share * judged + (1 - share) * (1 - judged)
        truth = {"kappa": (observed - by_chance) / (1 - by_chance), "corrected rate": share}
        name, room = (
            f"rate {share}, sensitivity {hit}, specificity {reject}",
            _has_room(share, n) and _has_room(observed, n),
        )
        yield Scenario(name, n, truth, partial(_draw_judge, n, share, hit, reject), room)


def _draw_judge(n: int, share: float, hit: float, reject: float, rng: Rng) -> Values:
    labels = rng.random(1_000) < share
    judged = np.where(labels, rng.random(1_000) < hit, rng.random(1_000) >= reject)
    found = agreement(judged[:n], labels[:n], range(n))
    known = np.where(np.arange(1_000) < n, labels, np.nan)
    return {
        "kappa": found.kappa,
        "corrected rate": prediction_powered(judged, known, range(1_000)).rate,
    }


def _uneven(held_out: bool) -> list[Sizes]:
    """Return the sizes of events of which a few have many more questions than the others."""
    designs = (
        (((19, 1), (1, 10)), ((36, 1), (4, 20)), ((95, 1), (5, 10)), ((280, 1), (20, 15))),
        (((50, 1), (3, 12)), ((60, 2), (10, 9), (2, 30)), ((200, 1), (15, 6))),
    )
    return [np.repeat([size for _, size in design], [events for events, _ in design]) for design in designs[held_out]]


def _describe(sizes: Sizes, rho: float) -> str:
    found = [f"{events} of {size}" for size, events in zip(*np.unique(sizes, return_counts=True), strict=True)]
    return f"{', '.join(found)}, correlation {rho}"


def _independent(sizes: Sizes, rho: float) -> float:
    """Return the number of independent trials that give a rate the same variance."""
    return float(sizes.sum() / (1 + ((sizes**2).sum() / sizes.sum() - 1) * rho))


def _has_room(share: float, n: float) -> bool:
    return min(share, 1 - share) * n >= _ENOUGH - 1e-9


def _difficulties(rng: Rng, n: int, share: float, rho: float, held_out: bool) -> Floats:
    """Return the chance of a hit for each cluster, with a beta or (held out) a probit-normal distribution."""
    if rho == 0:
        return np.full(n, share)
    if held_out:
        return np.asarray(ndtr((ndtri(share) + np.sqrt(rho) * rng.standard_normal(n)) / np.sqrt(1 - rho)))
    if rho == 1:
        return (rng.random(n) < share).astype(np.float64)
    return rng.beta(share * (1 - rho) / rho, (1 - share) * (1 - rho) / rho, n)


def _trial(item: int, testbed: str, noise: float | None, scores: dict[str, Value], **place: object) -> Trial:
    values = {"correct": False, "refused": False, "flagged": False} | scores
    trial = Trial(
        model="m", data="d", item=str(item), lang="en", testbed=testbed, profile="robust", noise=noise, k=5,
        scores=values,
    )  # fmt: skip
    return replace(trial, **place)


def _measure(table: str, trials: Sequence[Trial]) -> dict[str, Interval]:
    """Return the estimates of a table; the last if a metric has several."""
    (columns,) = group_rows(trials)
    return {
        cell.estimate.metric: interval_of(cell.estimate)
        for cell in METRICS[table](CellBuilder(table, columns, "robust"))
    }

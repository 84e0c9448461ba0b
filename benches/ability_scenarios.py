"""Scenarios for `python -m benches stats_coverage --parts abilities`: flip points, long contexts, selective prediction.

Every scenario gives the share of simulated runs in which the interval contains the true value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy.special import expit, logit

from benches.coverage_scenarios import Scenario
from ragbed.analysis.metrics.conflict import flip_point
from ragbed.analysis.metrics.length import MIDDLE_WEIGHTS, length_shape
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.bootstrap import bootstrap
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.analysis.statistics.selective import ConfidentAnswers
from ragbed.analysis.statistics.trend import clustered_slope
from ragbed.analysis.statistics.unpaired import combine_rates

_SIZES = (100, 300)
_RATIOS = np.linspace(0, 1, 6)
_NUMBERS = np.array([1, 5, 10, 20, 50])
_MANY = 200_000  # number of answers from which the true values are computed
_LIMIT = 0.05


def flip_points(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield flip points of questions that change their answer at different shares of true documents."""
    for n, (middle, spread), refused in product(_SIZES, ((0.3, 0.5), (0.5, 0.15), (0.75, 0.5)), (0.0, 0.3)):

        def leads(count: int, chosen: tuple[float, float, float] = (middle, spread, refused)) -> Floats:
            limits = rng.normal(chosen[0], chosen[1], (count, 1))
            true = rng.random((count, len(_RATIOS))) < expit((_RATIOS - limits) / 0.05)
            return np.where(rng.random(true.shape) < chosen[2], 0.0, np.where(true, 1.0, -1.0))

        def statistic(totals: Floats) -> Floats:
            sums, trials = np.split(totals, 2, axis=-1)
            return flip_point(_RATIOS, sums / trials)[..., None]

        truth = float(flip_point(_RATIOS, leads(_MANY).mean(axis=0)))
        found = [
            bootstrap(np.column_stack([lead, np.ones_like(lead)]), statistic, replicates=2_000)[0]
            for lead in (leads(n) for _ in range(runs))
        ]
        covered = sum(one.low <= truth <= one.high for one in found) / runs
        yield Scenario(f"flip at {middle}, spread {spread}, {refused:.0%} refused", n, covered)


def selective_answers(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield AURC, Brier score and coverage at 5% risk of calibrated answers, with one or three cases per question."""
    measures: dict[str, Callable[[ConfidentAnswers], Interval]] = {
        "AURC": ConfidentAnswers.area,
        "Brier score": ConfidentAnswers.brier,
        "coverage at 5 % risk": lambda answers: answers.coverage_at(_LIMIT),
    }
    for (n, each), (accuracy, sharpness) in product(((100, 1), (100, 3), (300, 1)), ((0.8, 2), (0.9, 2), (0.95, 1))):
        shares = _draw(rng, _MANY, 1, accuracy, sharpness).confidence
        risk = np.cumsum(1 - shares) / np.arange(1, len(shares) + 1)
        truth = {
            "AURC": float(risk.mean()),
            "Brier score": float((shares * (1 - shares)).mean()),
            "coverage at 5 % risk": float(np.count_nonzero(risk <= _LIMIT) / len(risk)),
        }
        drawn = [_draw(rng, n, each, accuracy, sharpness) for _ in range(runs)]
        for name, measure in measures.items():
            found = [measure(answers) for answers in drawn]
            covered = sum(one.low <= truth[name] <= one.high for one in found) / runs
            yield Scenario(f"{name}, accuracy {accuracy}, {each} per question", n, covered)


def long_contexts(rng: np.random.Generator, runs: int) -> Iterator[Scenario]:
    """Yield the trend over the number of documents and the loss in the middle of the prompt.

    Questions differ in difficulty. Accuracy falls with the logarithm of the number of documents, and it is lower if the
    supporting document is in the middle of the prompt.
    """
    for n, decline, dip in product(_SIZES, (0.0, 0.3, 0.6), (0.0, 1.5)):

        def draw(count: int, chosen: tuple[float, float] = (decline, dip)) -> Floats:
            part = (np.arange(count)[:, None] + rng.integers(5, size=(1, len(_NUMBERS)))) % 5
            inside = 1 - np.abs(part - 2) / 2
            level = 1.5 - chosen[0] * np.log2(_NUMBERS) - chosen[1] * inside + rng.standard_normal((count, 1))
            hits = (rng.random((count, len(_NUMBERS))) < expit(level)).astype(np.float64)
            return np.stack([hits, part.astype(np.float64)])

        truth = {name: one.value for name, one in _measure_lengths(draw(_MANY), replicates=1).items()}
        covered = dict.fromkeys(truth, 0)
        for _ in range(runs):
            for name, one in _measure_lengths(draw(n)).items():
                covered[name] += one.low <= truth[name] <= one.high
        for name, count in covered.items():
            if name != "docs10" or decline:  # without a decline, there is no such number of documents
                yield Scenario(f"{name}, decline {decline}, dip {dip}", n, count / runs)


def _measure_lengths(drawn: Floats, replicates: int = 2_000) -> dict[str, Interval]:
    """Return the estimates of `ragbed.analysis.metrics.length` for verdicts by question and number of documents."""
    hits, parts = drawn
    doublings = np.log2(_NUMBERS)

    def statistic(totals: Floats) -> Floats:
        return length_shape(_NUMBERS, totals[..., : len(_NUMBERS)] / totals[..., len(_NUMBERS) :])

    retention, docs10 = bootstrap(np.column_stack([hits, np.ones_like(hits)]), statistic, replicates=replicates)
    questions = np.repeat(np.arange(len(hits)), len(_NUMBERS))
    slope = clustered_slope(np.tile(doublings, len(hits)), hits.ravel(), questions).slope
    rates = []
    for part in (0, 4, 2):
        found = hits[parts[:, -1] == part, -1]
        rates.append(clustered_wilson(found.tolist(), [1.0] * len(found)))
    loss = combine_rates(rates, MIDDLE_WEIGHTS)
    return {"slope": slope, "retention": retention, "docs10": docs10, "middle loss": loss}


def _draw(rng: np.random.Generator, n: int, each: int, accuracy: float, sharpness: float) -> ConfidentAnswers:
    """Return calibrated answers; the answers to one question are correlated."""
    difficulty = (rng.standard_normal((n, 1)) + rng.standard_normal((n, each))) / np.sqrt(2)
    confidence = expit(logit(accuracy) + sharpness * difficulty)
    right = rng.random((n, each)) < confidence
    cluster = np.repeat(np.arange(n), each)
    return ConfidentAnswers.of(confidence.ravel(), right.ravel(), cluster, n * each)

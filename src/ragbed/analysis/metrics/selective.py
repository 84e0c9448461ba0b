"""Selective prediction: risk and coverage when only sufficiently confident answers are shown (`--confidence`).

The cases of `noise`, `rejection` and `integration` count together, so that questions without an answer in the documents
are part of the risk. Refusals and failed calls are never shown.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Mask
from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.statistics.selective import ConfidentAnswers

RISK = 0.05  # maximum risk (share of wrong answers) at which coverage is reported
BINS = 10  # number of bins in the reliability diagram
_TESTBEDS = ("noise", "rejection", "integration")


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells for each number of documents."""
    trials = builder.trials
    if "no_confidence" not in trials.scores:
        return
    given = np.logical_or.reduce([trials.of(name) for name in _TESTBEDS]) & trials.asked
    for k, mask in trials.split(given, "k"):
        here, problems = builder.at(k=k), trials.scores["no_confidence"]
        if np.isfinite(problems[mask]).any():
            yield here.rate("no_confidence", mask, problems)
            yield from _selective(here, mask)


def _selective(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    trials, correct = builder.trials, builder.score("correct")
    confidence = trials.untracked("confidence")
    shown = mask & trials.responded(builder.track) & np.isfinite(confidence) & np.isfinite(correct)
    if not shown.any():
        return
    cases = trials.size(mask)
    answers = ConfidentAnswers.of(confidence[shown], correct[shown], trials.cluster[shown], cases)
    n = trials.size(shown)

    def cell(metric: str, interval: Interval) -> Cell:
        return builder.cell(metric, builder.fixed(interval), n, mask, scored=shown)

    yield cell("aurc", answers.area())
    yield cell("brier", answers.brier())
    yield cell("coverage_at_5", answers.coverage_at(RISK))
    last = answers.last_within(RISK)
    threshold = np.nan if last is None else float(answers.confidence[last])
    yield builder.number("threshold_at_5", threshold, n, mask)
    yield from _curves(builder, answers, mask, shown)


def _curves(builder: CellBuilder, answers: ConfidentAnswers, mask: Mask, shown: Mask) -> Iterator[Cell]:
    """Yield the risk at each coverage level (a percentage of cases), and each bin's mean confidence and accuracy."""
    k = (builder.place or {}).get("k")
    counts = [int(point) + 1 for point in answers.points]
    by_percent = {-(-100 * n // answers.cases): (n, risk) for n, risk in zip(counts, answers.band, strict=True)}
    for percent, (n, risk) in by_percent.items():
        here = builder.at(k=k, slot=percent)
        yield here.cell("risk_by_coverage", builder.fixed(risk), n, mask, scored=shown)
    for number, mean, accuracy, n in answers.reliability(BINS):
        here = builder.at(k=k, slot=number)
        yield here.number("mean_confidence", mean, n, mask)
        yield here.cell("accuracy_by_confidence", builder.fixed(accuracy), n, mask, scored=shown)

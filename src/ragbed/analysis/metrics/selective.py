"""Selective prediction: risk and coverage when only sufficiently confident answers are shown (`--confidence`).

The cases of `noise`, `rejection` and `integration` count together, so that questions without an answer in the documents
are part of the risk. Refusals and failed calls are never shown.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.statistics.curves import ConfidentAnswers
from ragbed.analysis.trials.columns import Mask

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
    confidence = trials.additional("confidence")
    shown = mask & trials.responded(builder.scorer) & np.isfinite(confidence) & np.isfinite(correct)
    if not shown.any():
        return
    cases = int(np.count_nonzero(mask))
    answers = ConfidentAnswers.of(confidence[shown], correct[shown], trials.cluster[shown], cases)
    yield builder.cell("aurc", builder.fixed(answers.area()), mask, shown)
    yield builder.rate("brier", mask, np.where(shown, (confidence - correct) ** 2, np.nan))
    yield builder.cell("coverage_at_5", builder.fixed(answers.coverage_at(RISK)), mask, shown)
    last = answers.last_within(RISK)
    yield builder.number("threshold_at_5", np.nan if last is None else float(answers.confidence[last]), mask)
    k = (builder.place or {}).get("k")
    # The risk at each coverage, as a percentage of cases, and each bin's mean confidence and accuracy.
    for point, risk in zip(answers.points.tolist(), answers.band, strict=True):
        here, scored = builder.at(k=k, slot=-(-100 * (point + 1) // cases)), confidence >= answers.confidence[point]
        yield here.cell("risk_by_coverage", builder.fixed(risk), mask, shown & scored)
    bins = np.minimum(np.nan_to_num(confidence) * BINS, BINS - 1).astype(np.int64)
    for number in np.unique(bins[shown]).tolist():
        here, own = builder.at(k=k, slot=number), shown & (bins == number)
        yield here.number("mean_confidence", float(confidence[own].mean()), own)
        yield here.rate("accuracy_by_confidence", own, correct)

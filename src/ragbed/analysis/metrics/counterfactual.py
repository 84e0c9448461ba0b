"""Counterfactual robustness: how a model responds to false documents, and whether it reports the error.

Every response is exactly one of correct, misled (asserting the false answer), both, refused or other. Independently, it
may or may not flag an error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.curve import of_shared_questions
from ragbed.analysis.metrics.knowledge import gate_samples, of_known
from ragbed.analysis.metrics.trial_columns import Mask, TrialColumns
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.trend import clustered_slope

PAPER_GATE = 0.7  # accuracy without documents that a model must exceed to be included in the paper's Table 7


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the counterfactual testbed for each share of true documents and noise ratio."""
    trials = builder.trials
    for k, mask in trials.split(trials.of("counterfactual"), "k"):
        for true, same_share in trials.split(mask, "correct"):
            for ratio, point in trials.split(same_share, "noise"):
                here = builder.at(correct=true, noise=ratio, k=k)
                if true + ratio < 1 - 1e-9:
                    yield from _false_documents(here, point)
                elif true:
                    yield here.rate("accuracy", point, here.score("correct"))
                    yield here.rate("false_alarm", point, here.score("flagged"))
        yield from _detection(builder.at(k=k), mask)
        yield from _slopes(builder.at(k=k), mask & (trials.noise == 0))
    if trials.of("counterfactual").any():
        yield from _gate(builder)


def _false_documents(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    trials, track = builder.trials, builder.track
    correct, flagged, misled = (builder.score(name) for name in ("correct", "flagged", "misled"))
    known = mask & of_known(trials, track)
    yield builder.rate("accuracy", mask, correct)
    yield builder.rate("error_detection", mask, flagged)
    yield builder.rate("corrected", mask, flagged * correct)
    yield builder.rate("corrected_of_flagged", mask & (flagged == 1), correct)
    if trials.has("misled", track):
        for name, values in outcomes(trials, track).items():
            yield builder.rate(name, mask, values)
        yield builder.rate("misled_at_all", mask, misled)
    yield builder.rate("resistance_of_known", known, correct)
    if trials.has("misled", track):
        yield builder.rate("override_of_known", known, misled)


def outcomes(trials: TrialColumns, track: str) -> dict[str, Floats]:
    """Return ten columns: {correct, misled, both, refused, other} × {flagged, unflagged}, with one 1 per response."""
    correct, partial, misled, refused, flagged = (
        trials.score(name, track) == 1 for name in ("correct", "partial", "misled", "refused", "flagged")
    )
    kinds = {
        "correct": correct & ~misled,
        "misled": misled & ~partial,
        "both": misled & partial,  # not correct, although the true answer is also stated
        "refused": refused & ~correct & ~misled,
        "other": ~correct & ~misled & ~refused,
    }
    known = np.isfinite(trials.score("misled", track)) & np.isfinite(trials.score("correct", track))
    responded = trials.responded(track)
    return {
        f"{kind}_{flag}": np.where(known, is_kind & is_flag & responded, np.nan)
        for kind, is_kind in kinds.items()
        for flag, is_flag in (("flagged", flagged), ("unflagged", ~flagged))
    }


def _detection(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    """Yield cells that show how well the model's error reports distinguish false documents from true ones."""
    trials, flagged = builder.trials, builder.score("flagged")
    false, clean = mask & (trials.correct == 0) & (trials.noise == 0), mask & (trials.correct == 1)
    if false.any() and (clean & trials.asked).any():
        metrics = ["detection_precision", "detection_balanced_accuracy"]
        yield from builder.resampled(metrics, [(false, flagged), (clean, flagged)], _detection_rates)


def _detection_rates(totals: Floats) -> Floats:
    due, undue, n_due, n_undue = np.moveaxis(totals, -1, 0)
    recall, false = due / n_due, undue / n_undue
    return np.stack([recall / (recall + false), (recall + 1 - false) / 2], axis=-1)


def _slopes(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    """Yield the change in each score as the share of false documents increases from 0 to 1."""
    trials = builder.trials
    for name in ("correct", "misled", "flagged"):
        values = builder.score(name)
        points = of_shared_questions(trials, dict(trials.split(mask, "correct")), values)
        if trials.has(name, builder.track) and len(points) > 1:
            scored = np.logical_or.reduce(list(points.values())) & np.isfinite(values)
            false, counts = 1 - trials.correct[scored], trials.count[scored]
            trend = clustered_slope(false, values[scored], trials.cluster[scored], counts=counts)
            metric, n = f"{name}_by_false_share", trials.size(scored)
            yield builder.cell(metric, builder.fixed(trend.slope), n, mask, scored=scored)


def _gate(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the result of the paper's accuracy gate, and the accuracy on held-out samples of known questions.

    The held-out samples are those that were not used to choose the known questions.
    """
    trials, correct = builder.trials, builder.score("correct")
    closed = trials.of("closed-book")
    if closed.any():
        chosen = closed & of_known(trials, builder.track) & ~gate_samples(trials)
        yield builder.rate("closed_book_of_known", chosen, correct)
        scored = closed & np.isfinite(correct)
        if scored.any():
            accuracy = np.average(correct[scored], weights=trials.count[scored])
            yield builder.number("passes_paper_gate", float(accuracy > PAPER_GATE), trials.size(scored), closed)

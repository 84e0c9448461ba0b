"""Negative rejection: paired refusal metrics for the same questions, with and without the answer in the documents.

A model that always refuses has perfect refusal recall, so recall must be read together with the false refusals.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.knowledge import gate_accuracy
from ragbed.analysis.metrics.trial_columns import Mask
from ragbed.analysis.statistics.binomial import Floats


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the rejection testbed and of the paired comparison."""
    trials, refused = builder.trials, builder.score("refused")
    for k, without in trials.split(trials.of("rejection"), "k"):
        yield from _without_evidence(builder.at(noise=1.0, k=k), without)
        noise = trials.of("noise") & (trials.k == k)
        scored = noise & np.isfinite(refused)
        if scored.any():
            yield from _paired(builder.at(k=k), noise & (trials.noise == trials.noise[scored].min()), without)


def _without_evidence(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    trials, correct, refused = builder.trials, builder.score("correct"), builder.score("refused")
    yield builder.rate("refusal_recall", mask, refused)
    refusals = mask & (refused == 1)
    if builder.track == "robust" and refusals.any():
        # The share of refusals that contain the required sentence (Rej/Rej* in the paper).
        yield builder.rate("format_adherence", refusals, trials.score("refused", "paper"))
    right = correct * (1 - refused)
    yield builder.rate("correct_without_evidence", mask, right)
    wrong = (1 - correct) * (1 - refused) * trials.responded(builder.track)
    yield builder.rate("wrong_without_evidence", mask, wrong)
    accuracy = gate_accuracy(trials, builder.track)[trials.item]
    # Without evidence, a correct answer comes from memory if the model knows it, and otherwise from a leak in the
    # documents.
    if np.isfinite(accuracy[mask]).any():
        known = np.where(np.isfinite(accuracy), accuracy > 0.5, np.nan)
        yield builder.rate("correct_from_memory", mask, right * known)
        yield builder.rate("correct_by_leak", mask, right * (1 - known))


def _paired(builder: CellBuilder, answerable: Mask, without: Mask) -> Iterator[Cell]:
    trials, correct, refused = builder.trials, builder.score("correct"), builder.score("refused")
    both = np.isfinite(trials.per_item(answerable, refused)) & np.isfinite(trials.per_item(without, refused))
    answerable, without = answerable & both[trials.item], without & both[trials.item]
    if not answerable.any():
        return
    yield builder.rate("false_refusal", answerable, refused)
    metrics = ["refusal_precision", "refusal_f1", "balanced_accuracy", "youden_j"]
    yield from builder.resampled(metrics, [(without, refused), (answerable, refused)], _abstention)
    union = answerable | without
    attempted = np.where(trials.responded(builder.track), 1 - refused, 0.0)
    parts = [(union, correct * (1 - refused)), (union, attempted)]
    yield from builder.resampled(["crag_score", "simpleqa_f"], parts, _penalised)


def _abstention(totals: Floats) -> Floats:
    """Return precision, F1, balanced accuracy and Youden's J, computed from correct and false refusals."""
    due, undue, n_due, n_undue = np.moveaxis(totals, -1, 0)
    recall, false = due / n_due, undue / n_undue
    precision = due / (due + undue)
    f1 = 2 * due / (due + undue + n_due)
    return np.stack([precision, f1, (recall + 1 - false) / 2, recall - false], axis=-1)


def _penalised(totals: Floats) -> Floats:
    """Return CRAG's score (right +1, no answer 0, wrong −1) and SimpleQA's F-score."""
    right, attempted, n, _ = np.moveaxis(totals, -1, 0)
    return np.stack([(2 * right - attempted) / n, 2 * right / (n + attempted)], axis=-1)

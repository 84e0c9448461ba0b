"""Negative rejection, paired: the same questions with documents that hold the answer and with none that does.

A model that always refuses has a perfect refusal recall; only beside its false refusals does that mean something.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.knowledge import gate_samples
from ragbed.analysis.metrics.trial_columns import Mask
from ragbed.analysis.statistics.binomial import Floats


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """The cells of the rejection testbed, and of the pair."""
    sheet = maker.sheet
    hopeless = sheet.of("rejection")
    for k in np.unique(sheet.k[hopeless]).tolist():
        without = hopeless & (sheet.k == k)
        yield maker.rate("refusal_recall", without, maker.score("refused"), noise=1.0, k=k)
        yield from _adherence(maker, without, k)
        yield from _unfounded(maker, without, k)
        noise = sheet.of("noise") & (sheet.k == k)
        if noise.any():
            yield from _paired(maker, noise & (sheet.noise == sheet.noise[noise].min()), without, k)


def _adherence(maker: CellBuilder, without: Mask, k: int) -> Iterator[Cell]:
    """Of the refusals, those in the words that the instruction asks for: what a program could go by (Rej/Rej*)."""
    refused = without & (maker.score("refused") == 1)
    if maker.track == "robust" and refused.any():
        yield maker.rate("format_adherence", refused, maker.sheet.score("refused", "paper"), noise=1.0, k=k)


def _unfounded(maker: CellBuilder, without: Mask, k: int) -> Iterator[Cell]:
    """Right answers that no document gave: from memory, where the model also answers without documents, or a leak."""
    sheet, correct, refused = maker.sheet, maker.score("correct"), maker.score("refused")
    right = correct * (1 - refused)
    yield maker.rate("correct_without_evidence", without, right, noise=1.0, k=k)
    replied = np.where(sheet.failed, 0.0, (1 - correct) * (1 - refused))
    yield maker.rate("wrong_without_evidence", without, replied, noise=1.0, k=k)
    gate = sheet.per_item(gate_samples(sheet), correct)[sheet.item]
    if np.isfinite(gate[without]).any():
        known = np.where(np.isfinite(gate), gate > 0.5, np.nan)
        yield maker.rate("correct_from_memory", without, right * known, noise=1.0, k=k)
        yield maker.rate("correct_by_leak", without, right * (1 - known), noise=1.0, k=k)


def _paired(maker: CellBuilder, answerable: Mask, without: Mask, k: int) -> Iterator[Cell]:
    sheet, correct, refused = maker.sheet, maker.score("correct"), maker.score("refused")
    both = np.isfinite(sheet.per_item(answerable, refused)) & np.isfinite(sheet.per_item(without, refused))
    answerable, without = answerable & both[sheet.item], without & both[sheet.item]
    if not answerable.any():
        return
    yield maker.rate("false_refusal", answerable, refused, k=k)
    names = ["refusal_precision", "refusal_f1", "balanced_accuracy", "youden_j"]
    yield from maker.resampled(names, [(without, refused), (answerable, refused)], _abstention, k=k)
    right = correct * (1 - refused)
    attempted = np.where(sheet.failed, 0.0, 1 - refused)
    union = answerable | without
    names = ["crag_score", "simpleqa_f"]
    yield from maker.resampled(names, [(union, right), (union, attempted)], _penalised, k=k)


def _abstention(totals: Floats) -> Floats:
    """Precision, F1, balanced accuracy and Youden's J from refusals where they are due and where they are not."""
    due, undue, n_due, n_undue = np.moveaxis(totals, -1, 0)
    recall, false = due / n_due, undue / n_undue
    precision = due / (due + undue)
    f1 = 2 * due / (due + undue + n_due)
    return np.stack([precision, f1, (recall + 1 - false) / 2, recall - false], axis=-1)


def _penalised(totals: Floats) -> Floats:
    """CRAG: right +1, no answer 0, wrong −1. SimpleQA: harmonic mean of right of all and right of attempted."""
    right, attempted, n, _ = np.moveaxis(totals, -1, 0)
    return np.stack([(2 * right - attempted) / n, 2 * right / (n + attempted)], axis=-1)

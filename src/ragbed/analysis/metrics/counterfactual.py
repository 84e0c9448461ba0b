"""Counterfactual robustness: what a model says when documents are false, and whether it says that they are.

Every reply is one of correct, misled (asserts the false answer), both, refused, other; and flags an error or does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.knowledge import gate_samples, known_items, of_items
from ragbed.analysis.metrics.trial_columns import Mask, TrialColumns
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.trend import clustered_slope

PAPER_GATE = 0.7
"""The paper's Table 7 has only models whose accuracy without documents is above this."""


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """The cells of the counterfactual testbed: one set a share of true documents and ratio."""
    sheet = maker.sheet
    mask = sheet.of("counterfactual")
    for k in np.unique(sheet.k[mask]).tolist():
        for true in np.unique(sheet.correct[mask & (sheet.k == k)]).tolist():
            for ratio in np.unique(sheet.noise[mask & (sheet.k == k) & (sheet.correct == true)]).tolist():
                here = mask & (sheet.k == k) & (sheet.correct == true) & (sheet.noise == ratio)
                if true + ratio < 1 - 1e-9:
                    yield from _false_documents(maker, here, true, ratio, k)
                elif true:
                    yield maker.rate("accuracy", here, maker.score("correct"), correct=true, noise=ratio, k=k)
                    yield maker.rate("false_alarm", here, maker.score("flagged"), correct=true, noise=ratio, k=k)
        yield from _detection(maker, mask & (sheet.k == k), k)
        yield from _dose(maker, mask & (sheet.k == k) & (sheet.noise == 0), k)
    if mask.any():
        yield from _gate(maker)


def _false_documents(maker: CellBuilder, here: Mask, true: float, ratio: float, k: int) -> Iterator[Cell]:
    correct, flagged = maker.score("correct"), maker.score("flagged")
    yield maker.rate("accuracy", here, correct, correct=true, noise=ratio, k=k)
    yield maker.rate("error_detection", here, flagged, correct=true, noise=ratio, k=k)
    yield maker.rate("corrected", here, flagged * correct, correct=true, noise=ratio, k=k)
    seen = here & (flagged == 1)
    yield maker.rate("corrected_of_flagged", seen, correct, correct=true, noise=ratio, k=k)
    if maker.sheet.has("misled", maker.track):
        for name, values in outcomes(maker.sheet, maker.track).items():
            yield maker.rate(name, here, values, correct=true, noise=ratio, k=k)
        yield maker.rate("misled_at_all", here, maker.score("misled"), correct=true, noise=ratio, k=k)
    yield from _resistance(maker, here, true, ratio, k)


def outcomes(sheet: TrialColumns, track: str) -> dict[str, Floats]:
    """The table {correct, misled, both, refused, other} × {flagged, not}: exactly one of ten is 1 for every reply."""
    correct, told, misled, refused, flagged = (
        sheet.score(name, track) == 1 for name in ("correct", "partial", "misled", "refused", "flagged")
    )
    kinds = {
        "correct": correct & ~misled,
        "misled": misled & ~told,
        "both": misled & told,  # who asserts the false answer beside the true one is not correct, yet has told it
        "refused": refused & ~correct & ~misled,
        "other": ~correct & ~misled & ~refused,
    }
    known = np.isfinite(sheet.score("misled", track))
    replied = sheet.asked & ~sheet.failed
    return {
        f"{kind}_{flag}": np.where(known, kind_of & flag_of & replied, np.nan)
        for kind, kind_of in kinds.items()
        for flag, flag_of in (("flagged", flagged), ("unflagged", ~flagged))
    }


def _resistance(maker: CellBuilder, here: Mask, true: float, ratio: float, k: int) -> Iterator[Cell]:
    """Of the questions that the model knows: how often it keeps to its answer, and how often it is led astray."""
    known = here & of_items(maker.sheet, known_items(maker.sheet, maker.track))
    yield maker.rate("resistance_of_known", known, maker.score("correct"), correct=true, noise=ratio, k=k)
    if maker.sheet.has("misled", maker.track):
        yield maker.rate("override_of_known", known, maker.score("misled"), correct=true, noise=ratio, k=k)


def _detection(maker: CellBuilder, mask: Mask, k: int) -> Iterator[Cell]:
    """Flags where documents are false against flags where all are true, which is what detection means."""
    sheet, flagged = maker.sheet, maker.score("flagged")
    false, clean = mask & (sheet.correct == 0) & (sheet.noise == 0), mask & (sheet.correct == 1)
    if false.any() and (clean & sheet.asked).any():
        yield from maker.resampled(
            ["detection_precision", "detection_balanced_accuracy"],
            [(false, flagged), (clean, flagged)],
            _both_ways,
            k=k,
        )


def _dose(maker: CellBuilder, mask: Mask, k: int) -> Iterator[Cell]:
    """Dose and response: how scores move as the share of false documents goes from 0 to 1."""
    for name in ("correct", "misled", "flagged"):
        if not maker.sheet.has(name, maker.track):
            continue
        values = maker.score(name)
        there = mask & np.isfinite(values)
        if len(np.unique(maker.sheet.correct[there])) > 1:
            sheet, false = maker.sheet, 1 - maker.sheet.correct[there]
            trend = clustered_slope(false, values[there], sheet.cluster[there], counts=sheet.count[there])
            yield maker.interval(f"{name}_by_false_share", trend.slope, sheet.size(there), mask, k=k)


def _both_ways(totals: Floats) -> Floats:
    due, undue, n_due, n_undue = np.moveaxis(totals, -1, 0)
    return np.stack([due / n_due / (due / n_due + undue / n_undue), (due / n_due + 1 - undue / n_undue) / 2], axis=-1)


def _gate(maker: CellBuilder) -> Iterator[Cell]:
    """The paper's gate on the model, and the accuracy of known questions on samples that did not choose them."""
    sheet, correct = maker.sheet, maker.score("correct")
    closed = sheet.of("closed-book")
    if not closed.any():
        return
    known = of_items(sheet, known_items(sheet, maker.track))
    yield maker.rate("closed_book_of_known", closed & known & ~gate_samples(sheet), correct)
    told = closed & np.isfinite(correct)
    accuracy = np.average(correct[told], weights=sheet.count[told]) if told.any() else np.nan
    yield maker.number("passes_paper_gate", float(accuracy > PAPER_GATE), sheet.size(closed), closed)

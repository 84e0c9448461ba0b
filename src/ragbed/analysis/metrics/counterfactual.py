"""Counterfactual robustness: how a model responds to false documents, and whether it reports the error.

Every response is exactly one of correct, misled (asserting the false answer), both, refused or other. Independently, it
may or may not flag an error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder, weigh
from ragbed.analysis.metrics.knowledge import gate_samples, of_known
from ragbed.analysis.statistics.testing import Floats
from ragbed.analysis.trials.columns import Mask, TrialColumns


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
    if trials.of("counterfactual").any():
        yield from _held_out(builder)


def _false_documents(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    trials, scorer = builder.trials, builder.scorer
    correct, flagged, misled = (builder.score(name) for name in ("correct", "flagged", "misled"))
    known = mask & of_known(trials, scorer)
    yield builder.rate("accuracy", mask, correct)
    yield builder.rate("error_detection", mask, flagged)
    yield builder.rate("corrected", mask, flagged * correct)
    yield builder.rate("corrected_of_flagged", mask & (flagged == 1), correct)
    if scorer == "code":
        yield builder.rate("correct_rate", mask & (flagged == 1), np.maximum(correct, builder.score("refused")))
    if trials.has("misled", scorer):
        for name, values in outcomes(trials, scorer).items():
            yield builder.rate(name, mask, values)
        yield builder.rate("misled_at_all", mask, misled)
    yield builder.rate("resistance_of_known", known, correct)
    if trials.has("misled", scorer):
        yield builder.rate("override_of_known", known, misled)


def outcomes(trials: TrialColumns, scorer: str) -> dict[str, Floats]:
    """Return ten columns: {correct, misled, both, refused, other} × {flagged, unflagged}, with one 1 per response."""
    correct, partial, misled, refused, flagged = (
        trials.score(name, scorer) == 1 for name in ("correct", "partial", "misled", "refused", "flagged")
    )
    kinds = {
        "correct": correct & ~misled,
        "misled": misled & ~partial,
        "both": misled & partial,  # not correct, although the true answer is also stated
        "refused": refused & ~correct & ~misled,
        "other": ~correct & ~misled & ~refused,
    }
    known = np.isfinite(trials.score("misled", scorer)) & np.isfinite(trials.score("correct", scorer))
    responded = trials.responded(scorer)
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
        weights = weigh([(false, 1.0), (clean, 1.0)], flagged)
        justified = np.where(flagged == 1, false, np.nan)
        yield builder.rate("detection_precision", false | clean, justified, weights)
        yield builder.mean_of_rates("detection_balanced_accuracy", (false, flagged), (clean, 1 - flagged))


def _held_out(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the accuracy on the samples of known questions that were not used to choose these questions."""
    trials = builder.trials
    chosen = trials.of("closed-book") & of_known(trials, builder.scorer) & ~gate_samples(trials)
    if trials.of("closed-book").any():
        yield builder.rate("closed_book_of_known", chosen, builder.score("correct"))

"""Information integration: whether all or some sub-answers are given, each for the right sub-question."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.curve import measure_curve
from ragbed.analysis.metrics.trial_columns import Ints, Mask
from ragbed.analysis.statistics.binomial import Floats


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the integration testbed."""
    trials = builder.trials
    for k, mask in trials.split(trials.of("integration"), "k"):
        yield from measure_curve(builder, mask, k)
        for ratio, point in trials.split(mask, "noise"):
            here = builder.at(noise=ratio, k=k)
            yield here.rate("false_refusal", point, here.score("refused"))
            if trials.has("partial", builder.track):
                yield from _parts(here, point)
            alone = trials.of("parts") & (trials.k == k) & (trials.noise == ratio)
            if alone.any():
                yield from _tax(here, point, alone)


def _parts(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    correct, partial, aligned = (builder.score(name) for name in ("correct", "partial", "aligned"))
    aligned_correct = np.where(np.isfinite(aligned), correct * (aligned >= 1), np.nan)
    yield builder.rate("sub_answer_recall", mask, partial)
    yield builder.rate("aligned_recall", mask, aligned)
    yield builder.rate("aligned_accuracy", mask, aligned_correct)
    yield from builder.resampled(["joint_loss"], [(mask, partial), (mask, correct)], _loss)


def _tax(builder: CellBuilder, mask: Mask, alone: Mask) -> Iterator[Cell]:
    """Yield the loss from asking all sub-questions at once instead of separately, with the same documents."""
    trials, correct = builder.trials, builder.score("correct")
    layouts = np.column_stack([trials.item, trials.seed, trials.slot, trials.repeat])
    every_part = _all_correct(layouts, alone & np.isfinite(correct), correct)
    yield builder.rate("part_accuracy", alone, correct)
    yield builder.rate("every_part_alone", mask, every_part)
    yield from builder.resampled(["integration_tax"], [(mask, every_part), (mask, correct)], _loss)


def _all_correct(layouts: Ints, parts: Mask, correct: Floats) -> Floats:
    """Return, for each trial, whether all parts of its layout are correct, or NaN if its layout has no parts."""
    _, layout = np.unique(layouts, axis=0, return_inverse=True)
    layout = layout.reshape(-1)
    least = np.full(layout.max(initial=0) + 1, np.inf)
    np.minimum.at(least, layout[parts], correct[parts])
    return np.asarray(np.where(np.isfinite(least), least >= 1, np.nan)[layout], np.float64)


def _loss(totals: Floats) -> Floats:
    """Return the accuracy when sub-questions are asked separately, minus the accuracy when all are asked at once."""
    parts, complete, n, _ = np.moveaxis(totals, -1, 0)
    return np.stack([(parts - complete) / n], axis=-1)

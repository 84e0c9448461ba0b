"""Information integration: all sub-answers, some of them, and each with the sub-question it belongs to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.curve import measure_curve
from ragbed.analysis.metrics.trial_columns import Ints, Mask
from ragbed.analysis.statistics.binomial import Floats


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """The cells of the integration testbed."""
    sheet = maker.sheet
    mask = sheet.of("integration")
    for k in np.unique(sheet.k[mask]).tolist():
        yield from measure_curve(maker, mask, k)
        for ratio in np.unique(sheet.noise[mask & (sheet.k == k)]).tolist():
            here = mask & (sheet.k == k) & (sheet.noise == ratio)
            yield maker.rate("false_refusal", here, maker.score("refused"), noise=ratio, k=k)
            if sheet.has("partial", maker.track):
                yield from _parts(maker, here, ratio, k)
            alone = sheet.of("parts") & (sheet.k == k) & (sheet.noise == ratio)
            if alone.any():
                yield from _tax(maker, here, alone, ratio, k)


def _parts(maker: CellBuilder, here: Mask, ratio: float, k: int) -> Iterator[Cell]:
    correct, found, bound = (maker.score(name) for name in ("correct", "partial", "aligned"))
    yield maker.rate("sub_answer_recall", here, found, noise=ratio, k=k)
    yield maker.rate("aligned_recall", here, bound, noise=ratio, k=k)
    yield maker.rate(
        "aligned_accuracy", here, np.where(np.isfinite(bound), correct * (bound >= 1), np.nan), noise=ratio, k=k
    )
    yield from maker.resampled(["joint_loss"], [(here, found), (here, correct)], _loss, noise=ratio, k=k)


def _tax(maker: CellBuilder, here: Mask, alone: Mask, ratio: float, k: int) -> Iterator[Cell]:
    """What a model answers part by part, with the same documents, against what it answers at once."""
    sheet, correct = maker.sheet, maker.score("correct")
    yield maker.rate("part_accuracy", alone, correct, noise=ratio, k=k)
    every_part = _every(np.column_stack([sheet.item, sheet.seed, sheet.slot, sheet.repeat]), alone, correct)
    yield maker.rate("every_part_alone", here, every_part, noise=ratio, k=k)
    yield from maker.resampled(["integration_tax"], [(here, every_part), (here, correct)], _loss, noise=ratio, k=k)


def _every(layouts: Ints, alone: Mask, correct: Floats) -> Floats:
    """Whether all parts of a trial's question, laid out alike and in the same repeat, are right; NaN if unasked."""
    _, layout = np.unique(layouts, axis=0, return_inverse=True)
    layout = layout.reshape(-1)
    least, asked = np.ones(layout.max(initial=0) + 1), np.zeros(layout.max(initial=0) + 1, np.bool_)
    there = alone & np.isfinite(correct)
    np.minimum.at(least, layout[there], correct[there])
    asked[layout[there]] = True
    return np.asarray(np.where(asked, least >= 1, np.nan)[layout], np.float64)


def _loss(totals: Floats) -> Floats:
    """What is had of the parts minus what is answered whole: what it costs that all parts are wanted at once."""
    found, correct, n, _ = np.moveaxis(totals, -1, 0)
    return np.stack([(found - correct) / n], axis=-1)

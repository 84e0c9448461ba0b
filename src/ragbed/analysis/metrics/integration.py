"""Information integration: whether all or some sub-answers are given, each for the right sub-question."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.curve import measure_curve
from ragbed.analysis.trials.columns import Mask


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the integration testbed."""
    trials = builder.trials
    for k, mask in trials.split(trials.of("integration"), "k"):
        yield from measure_curve(builder, mask, k)
        for ratio, point in trials.split(mask, "noise"):
            here = builder.at(noise=ratio, k=k)
            yield here.rate("false_refusal", point, here.score("refused"))
            if trials.has("partial", builder.scorer):
                yield from _parts(here, point)


def _parts(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    correct, partial, aligned = (builder.score(name) for name in ("correct", "partial", "aligned"))
    aligned_correct = np.where(np.isfinite(aligned), correct * (aligned >= 1), np.nan)
    yield builder.rate("sub_answer_recall", mask, partial)
    yield builder.rate("aligned_recall", mask, aligned)
    yield builder.rate("aligned_accuracy", mask, aligned_correct)

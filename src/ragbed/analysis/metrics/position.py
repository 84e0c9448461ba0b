"""Position: the same questions with their documents at every position (`--positions all`).

A plain difference between the best and the worst slot is mostly chance; what counts is whether the same questions are
answered wherever the document stands. Seeds lay a question out differently, so it counts once for each. One that stands
at a single slot, in a run that is partly asked, compares nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Ints, Mask
from ragbed.analysis.statistics.paired import cochran_q


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """Accuracy by slot, Cochran's Q and order robustness, for every ratio that was asked at every position."""
    sheet, correct = maker.sheet, maker.score("correct")
    mask = sheet.of("noise") & (sheet.repeat == 0) & (sheet.slot >= 0)
    for k in np.unique(sheet.k[mask]).tolist():
        for ratio in np.unique(sheet.noise[mask & (sheet.k == k)]).tolist():
            here = mask & (sheet.k == k) & (sheet.noise == ratio)
            here &= np.bincount(sheet.layouts, weights=here)[sheet.layouts] > 1
            slots = [here & (sheet.slot == slot) for slot in range(k)]
            verdicts = np.column_stack([sheet.per_layout(slot, correct) for slot in slots])
            whole = np.asarray(np.isfinite(verdicts).all(axis=1))
            if k > 1 and whole.any():
                counts = sheet.counts(sheet.layouts, len(whole))[whole]
                yield from _cells(maker, slots, (verdicts[whole] > 0.5, counts), ratio)


def _cells(maker: CellBuilder, slots: list[Mask], asked: tuple[Mask, Ints], ratio: float) -> Iterator[Cell]:
    (verdicts, counts), correct = asked, maker.score("correct")
    k, n, everywhere = len(slots), int(counts.sum()), np.logical_or.reduce(slots)
    for slot, mask in enumerate(slots):
        yield maker.rate("accuracy_by_slot", mask, correct, noise=ratio, k=k, slot=slot)
    yield maker.number("position_p", cochran_q(verdicts, counts), n, everywhere, noise=ratio, k=k)
    alike = (verdicts == verdicts[:, :1]).all(axis=1)
    yield maker.share("order_robustness", int(counts[alike].sum()), n, everywhere, noise=ratio, k=k)

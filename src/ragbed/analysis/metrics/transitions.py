"""Transitions: the same questions without documents, with only good ones, and with a mix.

Each question has a verdict in each setting, that of most of its trials; the eight paths are named by them, as
`wrong_right_wrong`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Ints, Mask


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """Paths closed book → no noise → each ratio, and what documents do to what was known."""
    sheet, correct = maker.sheet, maker.score("correct")
    closed = sheet.of("closed-book")
    for testbed in ("noise", "integration"):
        for k in np.unique(sheet.k[sheet.of(testbed)]).tolist():
            mask = sheet.of(testbed) & (sheet.k == k)
            ratios = np.unique(sheet.noise[mask]).tolist()
            points = [mask & (sheet.noise == ratio) for ratio in ratios]
            for ratio, point in zip(ratios, points, strict=True):
                settings = [closed, points[0], point]
                verdicts = np.column_stack([sheet.per_item(one, correct) for one in settings])
                whole = np.isfinite(verdicts).all(axis=1)
                if whole.any():
                    asked = verdicts[whole] > 0.5, sheet.item_counts[whole]
                    yield from _cells(maker, asked, np.logical_or.reduce(settings), ratio, k)


def _cells(maker: CellBuilder, asked: tuple[Mask, Ints], mask: Mask, ratio: float, k: int) -> Iterator[Cell]:
    verdicts, counts = asked
    n = int(counts.sum())
    before, after = verdicts[:, 0], verdicts[:, 2]
    harmed = int(counts[before & ~after].sum())
    yield maker.share("no_degradation", n - harmed, n, mask, noise=ratio, k=k)
    yield maker.share("harmed_by_documents", harmed, n, mask, noise=ratio, k=k)
    yield maker.share("helped_by_documents", int(counts[after & ~before].sum()), n, mask, noise=ratio, k=k)
    for path in product((False, True), repeat=3):
        name = "_".join("right" if right else "wrong" for right in path)
        yield maker.share(name, int(counts[(verdicts == path).all(axis=1)].sum()), n, mask, noise=ratio, k=k)

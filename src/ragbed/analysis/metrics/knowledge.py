"""What a model knows without documents, question by question, and how documents change its answers.

Some samples decide what is known and others are scored: a question that was answered by luck is likely to be missed
next time, so the accuracy over the samples that chose the questions would be too high (regression to the mean).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Ints, Mask, TrialColumns


def gate_samples(sheet: TrialColumns) -> Mask:
    """The closed-book trials that decide what is known: every other repeat, the first included."""
    return np.asarray(sheet.of("closed-book") & (sheet.repeat % 2 == 0))


def known_items(sheet: TrialColumns, track: str) -> Mask:
    """The questions that most gate samples answer."""
    return sheet.per_item(gate_samples(sheet), sheet.score("correct", track)) > 0.5


def unknown_items(sheet: TrialColumns, track: str) -> Mask:
    """The questions that no more than half of the gate samples answer; those never asked are neither."""
    return sheet.per_item(gate_samples(sheet), sheet.score("correct", track)) <= 0.5


def common_items(sheets: Sequence[TrialColumns], track: str) -> set[str]:
    """The questions that every one of several models knows."""
    known = [{sheet.items[number] for number in np.flatnonzero(known_items(sheet, track))} for sheet in sheets]
    return set.intersection(*known)


def of_items(sheet: TrialColumns, items: Mask) -> Mask:
    """The trials of some questions."""
    return np.asarray(items[sheet.item])


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the closed-book testbed."""
    for testbed, ending in (("closed-book", ""), ("no-documents", "_instructed")):
        asked = maker.sheet.of(testbed)
        if asked.any():
            yield maker.rate(f"accuracy{ending}", asked, maker.score("correct"))
            yield maker.rate(f"refusal{ending}", asked, maker.score("refused"))


def measure_transitions(maker: CellBuilder) -> Iterator[Cell]:
    """Yield the paths closed book → no noise → each ratio, and how documents change what was known.

    A question's verdict in a setting is that of most of its trials. The eight paths are named by the three verdicts,
    e.g. `wrong_right_wrong`.
    """
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
                    yield from _transition_cells(maker, asked, np.logical_or.reduce(settings), ratio, k)


def _transition_cells(maker: CellBuilder, asked: tuple[Mask, Ints], mask: Mask, ratio: float, k: int) -> Iterator[Cell]:
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

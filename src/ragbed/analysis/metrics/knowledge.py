"""What a model knows without documents, question by question.

Gated on some samples and scored on others: a question that was answered by luck is likely to be missed next time, so
an accuracy over the very samples that chose the questions would be too high (regression to the mean).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Mask, TrialColumns


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
    """The cells of the closed-book testbed."""
    for testbed, ending in (("closed-book", ""), ("no-documents", "_instructed")):
        asked = maker.sheet.of(testbed)
        if asked.any():
            yield maker.rate(f"accuracy{ending}", asked, maker.score("correct"))
            yield maker.rate(f"refusal{ending}", asked, maker.score("refused"))

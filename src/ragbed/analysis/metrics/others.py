"""Testbeds that plug-ins bring: what every testbed can be asked, each in a table of its own name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import TrialColumns
from ragbed.testbeds import TESTBEDS

_SCORES = {"accuracy": "correct", "refusal": "refused", "error_detection": "flagged"}


def find_others(sheet: TrialColumns) -> list[str]:
    """The testbeds of a sheet that are not ragbed's own."""
    return list(dict.fromkeys(testbed for testbed, _ in sheet.kinds if testbed not in TESTBEDS))


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """The cells of the testbed that the table is named for, by number of documents."""
    asked = maker.sheet.of(maker.table)
    for k in np.unique(maker.sheet.k[asked]).tolist():
        for metric, name in _SCORES.items():
            yield maker.rate(metric, asked & (maker.sheet.k == k), maker.score(name), k=k)

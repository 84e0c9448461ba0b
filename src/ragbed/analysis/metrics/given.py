"""Metrics for the `given` testbed: whether responses are as expected, and which they are.

The table has one row per dataset and language. Each of its other rates is over the items with one expectation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.testbeds.given import GIVEN

NAME = GIVEN.name
# The metric and the score of the items with each expectation.
_RATES = {
    "answer": {"accuracy": "correct", "false_refusal": "refused"},
    "refuse": {"refusal_recall": "refused"},
    "correct": {"error_detection": "flagged"},
    "any": {},
}


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the testbed."""
    masks = {expect: builder.trials.of(NAME, expect) for expect in _RATES}
    here, every = builder.at(), np.logical_or.reduce([*masks.values()])
    if not every.any():
        return
    yield here.rate("expected", every, here.score("expected"))
    for expect, rates in _RATES.items():
        for metric, score in rates.items():
            cell = here.rate(metric, masks[expect], here.score(score))
            if cell.estimate.n:  # none if there are no gold answers, or if only a judge can recognise refusals
                yield cell

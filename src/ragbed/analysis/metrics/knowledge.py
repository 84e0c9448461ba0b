"""Measure which questions a model can answer without documents (closed book).

Some samples decide which questions are known; only the others are scored. A question that was answered by chance is
likely to be answered wrongly next time, so accuracy over the same samples would be too high (regression
to the mean).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.statistics.testing import Floats
from ragbed.analysis.trials.columns import Mask, TrialColumns


def gate_samples(trials: TrialColumns) -> Mask:
    """Return the closed-book trials that determine the known questions: every other repeat, starting with the first."""
    return np.asarray(trials.of("closed-book") & (trials.repeat % 2 == 0))


def gate_accuracy(trials: TrialColumns, scorer: str) -> Floats:
    """Return each question's accuracy on its gate samples (above 0.5 for known questions), or NaN if it has none.

    Failed calls are ignored, because they do not show whether the model knows the answer.
    """
    return trials.per_item(gate_samples(trials) & ~trials.failed, trials.score("correct", scorer))


def of_known(trials: TrialColumns, scorer: str) -> Mask:
    """Return the trials whose questions are known."""
    return np.asarray((gate_accuracy(trials, scorer) > 0.5)[trials.item])


def common_items(groups: Sequence[TrialColumns], scorer: str) -> set[str]:
    """Return the questions that all models know."""
    known = [
        {trials.items[number] for number in np.flatnonzero(gate_accuracy(trials, scorer) > 0.5)} for trials in groups
    ]
    return set.intersection(*known)


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the closed-book testbed."""
    for testbed, ending in (("closed-book", ""), ("no-documents", "_instructed")):
        mask = builder.trials.of(testbed)
        if mask.any():
            yield builder.rate(f"accuracy{ending}", mask, builder.score("correct"))
            yield builder.rate(f"refusal{ending}", mask, builder.score("refused"))

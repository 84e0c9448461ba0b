"""Compute the cost of a model's responses: in total, per case and per correct answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.trials.columns import Mask, TrialColumns
from ragbed.schema import Estimate

TABLE = "cost"


def cost_cells(groups: Sequence[TrialColumns], scorers: Sequence[str]) -> Iterator[Cell]:
    """Yield the cost cells for every scorer for all groups with a known cost.

    A cached response costs as much as the original call.
    """
    for scorer in scorers:
        for trials in groups:
            priced = np.isfinite(trials.dollars)
            total = math.fsum(trials.dollars[priced].tolist())
            if total:
                right = trials.right(scorer)[priced]
                correct = float(right[np.isfinite(right)].sum())
                values = {
                    "cost": total,
                    "cost_per_case": total / int(priced.sum()),
                    "cost_per_correct": total / correct if correct else None,
                }
                for metric, value in values.items():
                    yield Cell(TABLE, trials.key, scorer, "all", _estimate(metric, value, trials, priced), {})


def _estimate(metric: str, value: float | None, trials: TrialColumns, priced: Mask) -> Estimate:
    return Estimate(
        metric=metric,
        value=value,
        low=None,
        high=None,
        n=int(priced.sum()),
        questions=int(priced.sum()),
        asked=int(trials.asked.sum()),
        errors=int((trials.failed & ~trials.filtered).sum()),
        infeasible=0,
        filtered=int(trials.filtered.sum()),
        unsure=int(trials.is_unpriced.sum()),
    )

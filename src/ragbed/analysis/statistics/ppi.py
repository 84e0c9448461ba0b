"""Prediction-powered inference: correct a judge's rate using human labels for a sample of the trials.

The method is from Angelopoulos et al. (2023), with λ from PPI++. The variance uses influence functions, so labels may
be drawn with unequal probabilities (weights are inverse probabilities), and trials may be clustered by question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import LEVEL, Interval, wilson

# Number of disagreements to add to the observed ones, because a judge that agrees with a hundred labels may still have
# an error rate of one per cent. The number was chosen by simulation (`python -m benches stats_coverage`). Without this
# addition, intervals for a near-perfect judge have a coverage of only 86%.
_UNSEEN = 0.4


class Corrected(NamedTuple):
    """A corrected rate. `power` is λ: 1 uses the judge's verdicts fully, and 0 ignores them."""

    rate: Interval
    power: float
    labelled: int


def prediction_powered(
    judged: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike,
    inclusion: ArrayLike | None = None,
    level: float = LEVEL,
) -> Corrected:
    """Estimate the rate over all trials from the judge's verdicts on all trials and human labels for some of them.

    Args:
        judged: The judge's verdict on each trial, from 0 to 1.
        labels: The human label of each trial, or NaN if it has none.
        clusters: The question of each trial, numbered from 0.
        inclusion: The probability that each trial was chosen for labelling; equal by default.
        level: Confidence level.

    Raises:
        ValueError: Fewer than two questions have labels, or a labelled trial has a probability of 0.
    """
    f, y, groups = np.asarray(judged, np.float64), np.asarray(labels, np.float64), np.asarray(clusters, np.int64)
    known = np.isfinite(y)
    questions = len(np.unique(groups[known]))
    if questions < 2:
        raise ValueError(f"a correction requires labels for at least two questions (labelled: {questions})")
    chosen = np.ones(len(f)) if inclusion is None else np.asarray(inclusion, np.float64)
    if not (chosen[known] > 0).all():
        raise ValueError("a labelled trial has a labelling probability of 0; the probability must be above 0")
    weights = np.where(known, 1.0 / np.where(known, chosen, 1.0), 0.0)
    weights *= len(f) / weights.sum()
    y = np.where(known, y, 0.0)
    label_part = _per_cluster(weights * (y - np.average(y, weights=weights)), groups)
    judge_part = _per_cluster((f - f.mean()) - weights * (f - np.average(f, weights=weights)), groups)
    spread = float(judge_part @ judge_part)
    power = _clip(-float(label_part @ judge_part) / spread) if spread > 0 else 1.0  # the λ that minimises the variance
    rate = _clip(power * f.mean() + float(np.average(y - power * f, weights=weights)))
    parts = label_part + power * judge_part
    as_many = weights.sum() ** 2 / (weights @ weights)  # the effective number of equally weighted labels (Kish)
    variance = (float(parts @ parts) / len(f) ** 2 + _UNSEEN / as_many**2) * questions / (questions - 1)
    # Use Wilson's interval with the number of trials that would give this variance, but with at least the effective
    # number of labels. This minimum matters for rates near 0 and 1.
    effective = max(rate * (1 - rate) / variance, min(as_many, questions))
    return Corrected(wilson(rate * effective, effective, level), power, int(known.sum()))


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))


def _per_cluster(values: Floats, groups: NDArray[np.int64]) -> Floats:
    sums = np.zeros(groups.max() + 1)
    np.add.at(sums, groups, values)
    return sums

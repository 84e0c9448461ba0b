"""Measure a judge's agreement with human labels: kappa, AC1, sensitivity and specificity, clustered by question."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.bootstrap import bootstrap
from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson


class Agreement(NamedTuple):
    """The agreement between two raters on the same trials.

    `kappa` is Cohen's kappa. `ac1` is Gwet's coefficient, which remains stable if nearly all trials have the same
    label. `sensitivity` is None if there are no positive human labels, `specificity` if there are no negative ones.
    """

    n: int
    agreed: Interval
    kappa: Interval
    ac1: Interval
    sensitivity: Interval | None
    specificity: Interval | None


def agreement(
    judged: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike,
    weights: ArrayLike | None = None,
    level: float = LEVEL,
) -> Agreement:
    """Compare a judge's yes-or-no verdicts with human labels.

    Args:
        judged: The judge's verdict on each labelled trial, 0 or 1.
        labels: The human label of each trial, 0 or 1.
        clusters: The question of each trial, numbered from 0.
        weights: Number of trials that each labelled trial represents if labelling probabilities differ; default: equal.
        level: Confidence level.

    Raises:
        ValueError: The weights add up to 0.
    """
    judge, people = np.asarray(judged, np.int64), np.asarray(labels, np.int64)
    groups = np.unique(np.asarray(clusters), return_inverse=True)[1]
    # One row per question, with the counts of no-no, no-yes, yes-no and yes-yes trials (human label first).
    table = np.zeros((groups.max() + 1, 4))
    weighting = np.ones(len(judge)) if weights is None else np.asarray(weights, np.float64)
    if not weighting.sum() > 0:
        raise ValueError("the weights of the labels add up to 0; at least one weight must be above 0")
    np.add.at(table, (groups, 2 * people + judge), weighting * len(judge) / weighting.sum())
    agreed = clustered_wilson((table[:, 0] + table[:, 3]).tolist(), table.sum(axis=1).tolist(), level)
    beyond_chance = bootstrap(table, _beyond_chance, level=level)
    kappa, ac1 = map(_bounded, beyond_chance, (agreed, agreed), map(float, _by_chance(table.sum(axis=0))[1:]))
    return Agreement(
        n=len(judge),
        agreed=agreed,
        kappa=kappa,
        ac1=ac1,
        sensitivity=_rate(table[:, 3], table[:, 2] + table[:, 3], level),
        specificity=_rate(table[:, 0], table[:, 0] + table[:, 1], level),
    )


def _bounded(found: Interval, agreed: Interval, chance: float) -> Interval:
    """Return the interval. If resampling gives no bounds, as for perfect agreement, derive them from the raw agreement.

    The bounds of the raw agreement imply bounds on the chance-corrected agreement, unless all labels are equal.
    """
    if math.isfinite(found.low) or chance >= 1:
        return found
    low, high = ((bound - chance) / (1 - chance) for bound in (agreed.low, agreed.high))
    return Interval(found.value, max(-1.0, low), min(1.0, high))


def _rate(hits: Floats, trials: Floats, level: float) -> Interval | None:
    used = trials > 0
    return clustered_wilson(hits[used].tolist(), trials[used].tolist(), level) if used.any() else None


def _beyond_chance(totals: Floats) -> Floats:
    """Return kappa and AC1 for 2 × 2 tables."""
    observed, by_chance, by_gwet = _by_chance(totals)
    return np.stack([(observed - by_chance) / (1 - by_chance), (observed - by_gwet) / (1 - by_gwet)], axis=-1)


def _by_chance(totals: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the observed agreement, Cohen's chance agreement and Gwet's chance agreement."""
    both_no, judge_yes, people_yes, both_yes = np.moveaxis(totals, -1, 0)
    n = both_no + judge_yes + people_yes + both_yes
    people, judge = (people_yes + both_yes) / n, (judge_yes + both_yes) / n
    prevalence = (people + judge) / 2
    by_cohen = people * judge + (1 - people) * (1 - judge)
    return (both_no + both_yes) / n, by_cohen, 2 * prevalence * (1 - prevalence)

"""Measure a judge's agreement with human labels: kappa, AC1, sensitivity and specificity, clustered by question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import LEVEL, UNDEFINED, Interval, clustered_wilson, share_interval, trials_behind


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
    both_no, judge_yes, people_yes, both_yes = table.T
    sizes, agreeing = table.sum(axis=1), both_no + both_yes
    n = sizes.sum()
    agreed = clustered_wilson(agreeing.tolist(), sizes.tolist(), level)
    by_judge, by_people = ((one + both_yes).sum() / n for one in (judge_yes, people_yes))
    prevalence = (by_judge + by_people) / 2
    moved = [one + both_yes - share * sizes for one, share in ((judge_yes, by_judge), (people_yes, by_people))]
    residuals = agreeing - agreed.value * sizes
    return Agreement(
        n=len(judge),
        agreed=agreed,
        kappa=_beyond_chance(
            agreed,
            by_judge * by_people + (1 - by_judge) * (1 - by_people),
            residuals,
            (2 * by_people - 1) * moved[0] + (2 * by_judge - 1) * moved[1],
            level,
        ),
        ac1=_beyond_chance(
            agreed, 2 * prevalence * (1 - prevalence), residuals, (1 - 2 * prevalence) * (moved[0] + moved[1]), level
        ),
        sensitivity=_rate(both_yes, people_yes + both_yes, level),
        specificity=_rate(both_no, both_no + judge_yes, level),
    )


def _beyond_chance(agreed: Interval, chance: float, residuals: Floats, moved: Floats, level: float) -> Interval:
    """Return the agreement beyond chance with its interval.

    The bounds are those that the raw agreement implies, for as many independent trials as give the variance of the
    coefficient, but at most as many as are behind the raw agreement.

    Args:
        agreed: The raw agreement.
        chance: The agreement that is expected by chance. If it is 1, all labels are equal and there is no coefficient.
        residuals: For each question, its influence on the raw agreement.
        moved: For each question, its influence on the chance agreement.
        level: Confidence level.
    """
    if chance >= 1:
        return UNDEFINED
    own = float(residuals @ residuals)
    if own > 0:
        total = residuals - (1 - agreed.value) / (1 - chance) * moved
        trials = trials_behind(agreed, len(moved), level) * own / max(own, float(total @ total))
        agreed = share_interval(agreed.value, trials, len(moved), level)
    value, low, high = (float((bound - chance) / (1 - chance)) for bound in agreed)
    return Interval(value, max(-1.0, low), high)


def _rate(hits: Floats, trials: Floats, level: float) -> Interval | None:
    return clustered_wilson(hits.tolist(), trials.tolist(), level) if trials.any() else None

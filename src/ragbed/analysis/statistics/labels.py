"""Compare a judge with human labels: agreement, and rates corrected with labels (prediction-powered inference)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.rates import (
    UNDEFINED,
    Interval,
    clustered_wilson,
    share_interval,
    trials_behind,
    wilson,
)
from ragbed.analysis.statistics.testing import Floats


class Agreement(NamedTuple):
    """The agreement between two raters on the same trials.

    `kappa` is Cohen's kappa. `sensitivity` is None if there are no positive human labels, `specificity` if there are no
    negative ones.
    """

    n: int
    agreed: Interval
    kappa: Interval
    sensitivity: Interval | None
    specificity: Interval | None


def agreement(judged: ArrayLike, labels: ArrayLike, clusters: ArrayLike, weights: ArrayLike | None = None) -> Agreement:
    """Compare a judge's yes-or-no verdicts with human labels.

    Args:
        judged: The judge's verdict on each labelled trial, 0 or 1.
        labels: The human label of each trial, 0 or 1.
        clusters: The question of each trial, numbered from 0.
        weights: Number of trials that each labelled trial represents if labelling probabilities differ; default: equal.

    Raises:
        ValueError: The weights add up to 0.
    """
    judge, people = np.asarray(judged, np.int64), np.asarray(labels, np.int64)
    groups = np.unique(np.asarray(clusters), return_inverse=True)[1]
    # By question, the counts of no-no, no-yes, yes-no and yes-yes trials (human label first).
    weighting = np.ones(len(judge)) if weights is None else np.asarray(weights, np.float64)
    if not weighting.sum() > 0:
        raise ValueError("the weights of the labels add up to 0; at least one weight must be above 0")
    weighting = weighting * len(judge) / weighting.sum()
    kinds = [weighting * (2 * people + judge == kind) for kind in range(4)]
    both_no, judge_yes, people_yes, both_yes = np.array([np.bincount(groups, weights=kind) for kind in kinds])
    sizes, agreeing = both_no + judge_yes + people_yes + both_yes, both_no + both_yes
    n = sizes.sum()
    agreed = clustered_wilson(agreeing.tolist(), sizes.tolist())
    by_judge, by_people = ((one + both_yes).sum() / n for one in (judge_yes, people_yes))
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
        ),
        sensitivity=_rate(both_yes, people_yes + both_yes),
        specificity=_rate(both_no, both_no + judge_yes),
    )


def _beyond_chance(agreed: Interval, chance: float, residuals: Floats, moved: Floats) -> Interval:
    """Return the agreement beyond chance with its interval.

    The bounds are those that the raw agreement implies, for as many independent trials as give the variance of the
    coefficient, but at most as many as are behind the raw agreement.

    Args:
        agreed: The raw agreement.
        chance: The agreement that is expected by chance. If it is 1, all labels are equal and there is no coefficient.
        residuals: For each question, its influence on the raw agreement.
        moved: For each question, its influence on the chance agreement.
    """
    if chance >= 1:
        return UNDEFINED
    own = float(residuals @ residuals)
    if own > 0:
        total = residuals - (1 - agreed.value) / (1 - chance) * moved
        trials = trials_behind(agreed, len(moved)) * own / max(own, float(total @ total))
        agreed = share_interval(agreed.value, trials, len(moved))
    value, low, high = (float((bound - chance) / (1 - chance)) for bound in agreed)
    return Interval(value, max(-1.0, low), high)


def _rate(hits: Floats, trials: Floats) -> Interval | None:
    return clustered_wilson(hits.tolist(), trials.tolist()) if trials.any() else None


# Number of disagreements to add to the observed ones, because a judge that agrees with a hundred labels may still have
# an error rate of one per cent. The number was chosen by simulation (`python -m benches stats_coverage`). Without this
# addition, intervals for a near-perfect judge have a coverage of only 86%.
_UNSEEN = 0.4


class Corrected(NamedTuple):
    """A corrected rate. `power` is λ: 1 uses the judge's verdicts fully, and 0 ignores them."""

    rate: Interval
    power: float


def prediction_powered(
    judged: ArrayLike, labels: ArrayLike, clusters: ArrayLike, inclusion: ArrayLike | None = None
) -> Corrected:
    """Estimate the rate over all trials from the judge's verdicts on all trials and human labels for some of them.

    The method is from Angelopoulos et al. (2023), with λ from PPI++. The variance uses influence functions, so labels
    may be drawn with unequal probabilities (weights are inverse probabilities), and trials may be clustered by
    question.

    Args:
        judged: The judge's verdict on each trial, from 0 to 1.
        labels: The human label of each trial, or NaN if it has none.
        clusters: The question of each trial, numbered from 0.
        inclusion: The probability that each trial was chosen for labelling; equal by default.

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
    label_part = np.bincount(groups, weights=weights * (y - np.average(y, weights=weights)))
    judge_part = np.bincount(groups, weights=f - f.mean() - weights * (f - np.average(f, weights=weights)))
    spread = float(judge_part @ judge_part)
    # the λ that minimises the variance
    power = float(np.clip(-(label_part @ judge_part) / spread, 0, 1)) if spread > 0 else 1.0
    rate = float(np.clip(power * f.mean() + np.average(y - power * f, weights=weights), 0, 1))
    parts = label_part + power * judge_part
    as_many = weights.sum() ** 2 / (weights @ weights)  # the effective number of equally weighted labels (Kish)
    variance = (float(parts @ parts) / len(f) ** 2 + _UNSEEN / as_many**2) * questions / (questions - 1)
    # Use Wilson's interval with the number of trials that would give this variance, but with at least the effective
    # number of labels. This minimum matters for rates near 0 and 1.
    effective = max(rate * (1 - rate) / variance, min(as_many, questions))
    return Corrected(wilson(rate * effective, effective), power)

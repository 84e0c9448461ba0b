"""How far a judge agrees with people: kappa, AC1, sensitivity and specificity, with intervals by question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.bootstrap import bootstrap
from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson


class Agreement(NamedTuple):
    """Two raters on the same trials."""

    n: int
    agreed: Interval
    kappa: Interval
    """Cohen's: agreement beyond chance."""
    ac1: Interval
    """Gwet's: as kappa, but steady where nearly all trials are of one kind."""
    sensitivity: Interval | None
    """Share of what people call positive that the judge does; None where there is nothing of it."""
    specificity: Interval | None


def agreement(
    judged: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike,
    weights: ArrayLike | None = None,
    level: float = LEVEL,
) -> Agreement:
    """Compares a judge's yes and no with people's.

    Args:
        judged: 0 or 1 of every labelled trial.
        labels: People's 0 or 1.
        clusters: The question of every trial, as numbers 0, 1, ….
        weights: How many trials each stands for, where some were more likely to be labelled; equal if none are given.
        level: Of confidence.
    """
    judge, people = np.asarray(judged, np.int64), np.asarray(labels, np.int64)
    groups = np.unique(np.asarray(clusters), return_inverse=True)[1]
    # One row a question: how many trials of it are no-no, no-yes, yes-no, yes-yes (people first).
    table = np.zeros((groups.max() + 1, 4))
    weighing = np.ones(len(judge)) if weights is None else np.asarray(weights, np.float64)
    np.add.at(table, (groups, 2 * people + judge), weighing * len(judge) / weighing.sum())
    kappa, ac1 = bootstrap(table, _beyond_chance, level=level)
    return Agreement(
        n=len(judge),
        agreed=clustered_wilson((table[:, 0] + table[:, 3]).tolist(), table.sum(axis=1).tolist(), level),
        kappa=kappa,
        ac1=ac1,
        sensitivity=_share(table[:, 3], table[:, 2] + table[:, 3], level),
        specificity=_share(table[:, 0], table[:, 0] + table[:, 1], level),
    )


def _share(hits: Floats, asked: Floats, level: float) -> Interval | None:
    there = asked > 0
    return clustered_wilson(hits[there].tolist(), asked[there].tolist(), level) if there.any() else None


def _beyond_chance(totals: Floats) -> Floats:
    """Kappa and AC1 of 2 × 2 tables."""
    both_no, judge_yes, people_yes, both_yes = np.moveaxis(totals, -1, 0)
    n = both_no + judge_yes + people_yes + both_yes
    observed = (both_no + both_yes) / n
    people, judge = (people_yes + both_yes) / n, (judge_yes + both_yes) / n
    by_chance = people * judge + (1 - people) * (1 - judge)
    prevalence = (people + judge) / 2
    by_gwet = 2 * prevalence * (1 - prevalence)
    return np.stack([(observed - by_chance) / (1 - by_chance), (observed - by_gwet) / (1 - by_gwet)], axis=-1)

"""Confidence sequences: intervals that remain valid when a run is monitored continuously and stopped at any time.

With a probability of 1 − alpha, all intervals in a sequence contain the mean. An ordinary 95% interval that
is checked after every question misses the mean far more often. The sequence is a betting martingale (Waudby-Smith and
Ramdas 2024, "Estimating means of bounded random variables by betting"): for each candidate mean, a bettor stakes fixed
fractions of its wealth on the scores being higher (or lower). If the candidate is the true mean, the wealth exceeds
1/alpha at any time with probability at most alpha. Candidates with greater wealth are excluded. The wealth is averaged
over a grid of stakes, so small and large effects are found without tuning.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ragbed.analysis.statistics.rates import ALPHA, UNDEFINED, Interval
from ragbed.analysis.statistics.testing import Floats

STAKES: Floats = np.geomspace(0.01, 0.95, 12)
_STEPS = 40  # number of bisection steps, enough to compute the bounds with an error below 1e-12
_MOST = 10_000_000  # maximum number of questions to consider


def rate_sequence(hits: ArrayLike, trials: ArrayLike, alpha: float = ALPHA, largest: float = 0) -> Interval:
    """Return the rate over clustered trials with an interval that is valid at any stopping time.

    Args:
        hits: Sum of the scores in each cluster, in a planned order that does not depend on the scores.
        trials: Number of trials in each cluster.
        alpha: Probability that any interval in the sequence misses the rate.
        largest: Number of trials in the largest planned cluster. The bets are scaled by it, so it must not depend on
            how many clusters were evaluated. If it is 0, the largest cluster so far is used, which gives the same
            result if all clusters have the same size.
    """
    sums, sizes = np.asarray(hits, np.float64), np.asarray(trials, np.float64)
    if len(sums) == 0 or not sizes.any():
        return UNDEFINED
    rows, counts = np.unique(np.stack([sums, sizes]) / max(largest, sizes.max()), axis=1, return_counts=True)
    weights: Floats = counts.astype(np.float64)
    low = _lower_bound(rows[0], rows[1], weights, alpha)
    high = 1 - _lower_bound(rows[1] - rows[0], rows[1], weights, alpha)
    return Interval(float((rows[0] @ weights) / (rows[1] @ weights)), low, high)


def difference_sequence(differences: ArrayLike) -> Interval:
    """Return the mean of paired differences, each from −1 to 1, with an interval that is valid at any stopping time."""
    moved = np.asarray(differences, np.float64)
    return Interval(*(2 * bound - 1 for bound in rate_sequence((moved + 1) / 2, np.ones(len(moved)))))


def decline_p(differences: ArrayLike, min_drop: float) -> float:
    """Return an anytime-valid p-value for the null hypothesis that the drop does not exceed `min_drop`.

    The p-value is doubled, so that p < 0.05 means that the 95% interval lies below −min_drop.
    """
    moved = np.asarray(differences, np.float64)
    wealth = log_wealth((1 - moved) / 2, np.ones(len(moved)), np.ones(len(moved)), (1 + min_drop) / 2)
    return min(1.0, 2 * math.exp(-wealth))


def difference_p(differences: ArrayLike) -> float:
    """Return a two-sided, anytime-valid p-value for the null hypothesis of no difference."""
    moved = np.asarray(differences, np.float64)
    return min(decline_p(moved, 0.0), decline_p(-moved, 0.0))


def log_growth(hits: Floats, trials: Floats, mean: float) -> Floats:
    """Return, by stake and cluster, the growth in log wealth from betting that the rate exceeds the candidate mean.

    Args:
        hits: Sum of the scores in each cluster, divided by the largest planned number of trials in a cluster.
        trials: Number of trials in each cluster, divided by the same number.
        mean: The candidate mean.
    """
    return np.log1p(STAKES[:, None] * (hits / mean - trials))


def log_wealth(hits: Floats, trials: Floats, counts: Floats, mean: float) -> float:
    """Return the log wealth from betting that the rate is above a candidate mean (see `log_growth`)."""
    return float(np.logaddexp.reduce(log_growth(hits, trials, mean) @ counts) - math.log(len(STAKES)))


def _lower_bound(hits: Floats, trials: Floats, counts: Floats, alpha: float) -> float:
    """Find the largest mean that is ruled out as too low. Bisection works because wealth falls as the mean rises."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_wealth(hits, trials, counts, middle) >= math.log(2 / alpha) else (low, middle)
    return low

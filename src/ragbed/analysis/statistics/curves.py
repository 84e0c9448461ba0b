"""Curves: simultaneous bands, and the risk and coverage if only sufficiently confident answers are shown.

Coverage is the share of all cases whose answer is shown, and risk is the share of shown answers that are wrong. A
refusal is never shown. Answers with equal confidence are shown together, so a threshold never depends on their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson, share_interval
from ragbed.analysis.statistics.testing import Floats

_DRAWS = 20_000  # number of random draws, enough for the quantile to have a standard error of about 0.01
_ROUNDING = 1e-12  # eigenvalues up to this size are rounding errors


def clustered_bands(rows: ArrayLike, level: float = LEVEL) -> list[Interval]:
    """Return simultaneous intervals, at the given confidence level, for several rates over the same clusters.

    Each is a `clustered_wilson` interval at a higher level, which is computed from the maximum of correlated normal
    deviates (max-t). The more strongly the rates are correlated, the less the level is raised.

    Args:
        rows: One row per cluster: its hits at every point, then its trials at every point.
        level: Confidence level of all intervals together.
    """
    hits, trials = np.split(np.asarray(rows, np.float64), 2, axis=1)
    each = 2 * float(scipy.special.ndtr(_largest_deviate(hits, trials, level))) - 1
    return [clustered_wilson(*part, each) for part in zip(hits.T.tolist(), trials.T.tolist(), strict=True)]


def _largest_deviate(hits: Floats, trials: Floats, level: float) -> float:
    """Return the quantile of the maximum absolute value of normal deviates with the same correlations as the rates."""
    shares = hits.sum(axis=0) / trials.sum(axis=0)
    moved = hits - shares * trials
    covariance = moved.T @ moved
    scale = np.sqrt(np.diag(covariance))
    scale[scale <= 1e-9] = np.inf  # a rate without variation is treated as independent of the other rates
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric square root does not depend on the choice of eigenvectors, which changes with rounding errors.
    root = (vectors * np.sqrt(np.where(values > _ROUNDING, values, 0.0))) @ vectors.T
    drawn = _normal(len(shares)) @ root
    return float(np.quantile(np.abs(drawn).max(axis=1), level))


@cache
def _normal(points: int) -> Floats:
    return np.random.default_rng(0).standard_normal((_DRAWS, points))


_MOST_POINTS = 50  # maximum number of thresholds with a confidence interval
_LEAST_VARIANCE = 1e-24  # maximum variance that is due to rounding
_CHUNK_CELLS = 4_000_000  # maximum number of elements in a matrix of weights, about 32 MB


@dataclass(frozen=True)
class ConfidentAnswers:
    """Answers in descending order of confidence.

    Args:
        confidence: Confidence of each answer, 0 to 1.
        right: Whether each answer is right, 0 or 1.
        cluster: Number of each answer's question.
        cases: Total number of cases, including those without an answer to show (refusals, errors).
    """

    confidence: Floats
    right: Floats
    cluster: NDArray[np.int64]
    cases: int

    @classmethod
    def of(cls, confidence: ArrayLike, right: ArrayLike, cluster: ArrayLike, cases: int) -> ConfidentAnswers:
        """Sort answers by confidence."""
        values = np.asarray(confidence, np.float64)
        order = np.argsort(-values, kind="stable")
        numbers = np.unique(np.asarray(cluster, np.int64), return_inverse=True)[1].reshape(-1)
        return cls(values[order], np.asarray(right, np.float64)[order], numbers[order], cases)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The index of the last answer at each distinct level of confidence."""
        return np.flatnonzero(np.append(np.diff(self.confidence) != 0, True))

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """At most 50 of the `ends`, evenly spaced and including the last one."""
        chosen = np.unique(np.linspace(0, len(self.ends) - 1, min(len(self.ends), _MOST_POINTS)).astype(np.int64))
        return np.asarray(self.ends[chosen])

    def coverage(self, ends: NDArray[np.int64]) -> Floats:
        """Return the share of all cases that are shown at each of the given thresholds."""
        return np.asarray((ends + 1) / self.cases)

    @cached_property
    def _rows(self) -> Floats:
        """Return one row per question with the numbers of wrong and shown answers at every point of the curve."""
        group = np.searchsorted(self.points, np.arange(len(self.right)))
        wrong, shown = np.zeros((2, int(self.cluster.max()) + 1, len(self.points)))
        np.add.at(wrong, (self.cluster, group), 1 - self.right)
        np.add.at(shown, (self.cluster, group), 1.0)
        return np.column_stack([wrong.cumsum(axis=1), shown.cumsum(axis=1)])

    @cached_property
    def band(self) -> list[Interval]:
        """The risk at every point, with intervals that hold jointly for the whole curve."""
        return clustered_bands(self._rows)

    def area(self) -> Interval:
        """Return the mean risk over the thresholds, weighted by the number of answers at each threshold (AURC).

        The interval is that of as many independent answers as give the variance of the jackknife over questions. If all
        answers are right or all are wrong, it is that of as many answers as questions.
        """
        values, clusters = self._leave_one_out(), int(self.cluster.max()) + 1
        value, squares = values[0], np.square(values[1:] - values[1:].mean())
        variance = (clusters - 1) / clusters * float(squares.sum())
        if variance <= _LEAST_VARIANCE or not 0 < value < 1:
            return share_interval(value, clusters, clusters)
        # If a few questions determine the value, e.g. those with wrong answers, their effective number limits the
        # degrees of freedom.
        freedom = max(1.0, min(clusters - 1.0, float(squares.sum() ** 2 / np.square(squares).sum())))
        return share_interval(value, value * (1 - value) / variance, freedom)

    def _leave_one_out(self) -> Floats:
        """Return the AURC, followed by the AURC without each question in turn."""
        group = np.searchsorted(self.ends, np.arange(len(self.right)))
        clusters, size = int(self.cluster.max()) + 1, max(1, _CHUNK_CELLS // len(self.right))
        found = []
        for start in range(-1, clusters, size):  # −1 leaves out no question
            left_out = np.arange(start, min(start + size, clusters))[:, None]
            weights = (self.cluster != left_out).astype(np.float64)
            shown = np.cumsum(weights, axis=1)[:, self.ends]
            wrong = np.cumsum(weights * (1 - self.right), axis=1)[:, self.ends]
            risk = np.divide(wrong, shown, out=np.zeros_like(wrong), where=shown > 0)
            sizes = weights.sum(axis=1)
            total = (weights * risk[:, group]).sum(axis=1)
            found.append(np.divide(total, sizes, out=np.zeros_like(total), where=sizes > 0))
        return np.concatenate(found)

    def last_within(self, risk: float) -> int | None:
        """Return the index of the last answer shown at the largest coverage with at most the given risk, or None."""
        risks = np.cumsum(1 - self.right)[self.ends] / (self.ends + 1)
        fitting = self.ends[risks <= risk]
        return int(fitting[-1]) if len(fitting) else None

    def coverage_at(self, risk: float) -> Interval:
        """Return the largest coverage with at most the given risk.

        The lower bound is the largest coverage at which the band's upper limit is within the risk. The upper bound is
        the largest coverage at which the lower limit of a single interval is within the risk.
        """
        last = self.last_within(risk)
        value = 0.0 if last is None else (last + 1) / self.cases
        coverage = self.coverage(self.points)
        beyond = np.append(coverage[1:], coverage[-1])  # the true coverage may be as high as that of the next point
        wrong, shown = np.split(self._rows, 2, axis=1)
        lows = [clustered_wilson(*part).low for part in zip(wrong.T.tolist(), shown.T.tolist(), strict=True)]
        low = float(np.max(coverage[[one.high <= risk for one in self.band]], initial=0.0))
        high = float(np.max(beyond[np.array(lows) <= risk], initial=0.0))
        return Interval(value, min(low, value), max(high, value))

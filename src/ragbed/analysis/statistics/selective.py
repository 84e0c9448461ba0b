"""Selective prediction: risk and coverage when only sufficiently confident answers are shown.

Coverage is the share of all cases whose answer is shown, and risk is the share of shown answers that are wrong. A
refusal is never shown. Answers with equal confidence are shown together, so a threshold never depends on their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy  # `scipy.special` is loaded on first use, because loading it takes 0.2 s
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson
from ragbed.analysis.statistics.simultaneous import clustered_bands

Statistic: TypeAlias = Callable[[Floats], Floats]  # a function that maps rows of weights to values

_MOST_POINTS = 50  # maximum number of thresholds with a confidence interval
_ROUNDING = 1e-12  # maximum standard error that is due to rounding
_ALMOST_NONE = 1e-6  # minimum distance of a value from 0 and 1, so that its log odds are finite
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
        return clustered_bands(self._rows, [1] * len(self._rows))

    def area(self) -> Interval:
        """Return the mean risk over the thresholds, weighted by the number of answers at each threshold (AURC)."""
        group = np.searchsorted(self.ends, np.arange(len(self.right)))

        def aurc(weights: Floats) -> Floats:
            shown = np.cumsum(weights, axis=1)[:, self.ends]
            wrong = np.cumsum(weights * (1 - self.right), axis=1)[:, self.ends]
            risk = np.divide(wrong, shown, out=np.zeros_like(wrong), where=shown > 0)
            return np.asarray((weights * risk[:, group]).sum(axis=1) / weights.sum(axis=1))

        return self._jackknifed(aurc)

    def brier(self) -> Interval:
        """Return the mean squared difference between confidence and correctness (Brier score)."""
        errors = (self.confidence - self.right) ** 2
        return self._jackknifed(lambda weights: np.asarray(weights @ errors / weights.sum(axis=1)))

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
        lows = [
            clustered_wilson(wrong[used, point].tolist(), shown[used, point].tolist()).low
            for point in range(len(self.points))
            for used in [shown[:, point] > 0]
        ]
        low = float(np.max(coverage[[one.high <= risk for one in self.band]], initial=0.0))
        high = float(np.max(beyond[np.array(lows) <= risk], initial=0.0))
        return Interval(value, min(low, value), max(high, value))

    def reliability(self, bins: int) -> list[tuple[int, float, Interval, int]]:
        """Return the index, mean confidence, accuracy and size of each non-empty bin. All bins have the same width."""
        number = np.minimum((self.confidence * bins).astype(np.int64), bins - 1)
        found = []
        for one in np.unique(number).tolist():
            here = number == one
            trials = np.bincount(self.cluster[here])
            hits = np.bincount(self.cluster[here], weights=self.right[here])
            rate = clustered_wilson(hits[trials > 0].tolist(), trials[trials > 0].tolist())
            found.append((one, float(self.confidence[here].mean()), rate, int(here.sum())))
        return found

    def _jackknifed(self, statistic: Statistic) -> Interval:
        """Return a statistic between 0 and 1 with a jackknife interval over questions, computed on the log odds."""
        value = float(statistic(np.ones((1, len(self.right))))[0])
        clusters = int(self.cluster.max()) + 1
        if clusters < 2:
            return Interval(value, math.nan, math.nan)
        chunk = max(1, _CHUNK_CELLS // len(self.right))
        parts = (np.arange(start, min(start + chunk, clusters))[:, None] for start in range(0, clusters, chunk))
        left_out = np.concatenate([statistic((self.cluster[None, :] != part).astype(float)) for part in parts])
        squares = (left_out - left_out.mean()) ** 2
        error = math.sqrt((clusters - 1) / clusters * float(squares.sum()))
        if error <= _ROUNDING:  # the standard error cannot be estimated, e.g. because all answers are right
            return Interval(value, math.nan, math.nan)
        # If only a few questions determine the value (e.g. those with wrong answers), the degrees of freedom are
        # limited to twice the effective number of these questions.
        deciding = 2 * float(squares.sum() ** 2 / (squares**2).sum())
        freedom = max(1.0, min(clusters - 1.0, deciding))
        inner = min(max(value, _ALMOST_NONE), 1 - _ALMOST_NONE)
        reach = scipy.special.stdtrit(freedom, 0.5 + LEVEL / 2) * error / (inner * (1 - inner))
        odds = math.log(inner / (1 - inner))
        low, high = float(scipy.special.expit(odds - reach)), float(scipy.special.expit(odds + reach))
        return Interval(value, min(low, value), max(high, value))

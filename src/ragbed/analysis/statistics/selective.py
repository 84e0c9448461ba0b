"""Selective prediction: what happens if only the responses with enough confidence are shown.

Coverage is the share of all cases whose response is shown, and risk is the share of shown responses that are wrong. A
refusal is never shown. Responses with equal confidence are shown together, so a threshold never depends on their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy  # loads scipy.special, which takes 0.2 s, on first use
from numpy.typing import ArrayLike, NDArray

from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.rates import LEVEL, Interval, clustered_wilson

Statistic: TypeAlias = Callable[[Floats], Floats]  # from rows of weights to values

_ALMOST_NONE = 1e-6  # keeps the log odds of 0 and 1 finite
_CHUNK_CELLS = 4_000_000  # a matrix of weights of about 32 MB


@dataclass(frozen=True)
class ConfidentResponses:
    """Responses in descending order of confidence; cases without one (refusals, errors) are only counted.

    Args:
        confidence: Confidence of each response, 0 to 1.
        right: Whether each response is right, 0 or 1.
        cluster: Number of each response's question, from 0.
        abstained: Number of cases of each question that have no response to show.
    """

    confidence: Floats
    right: Floats
    cluster: NDArray[np.int64]
    abstained: Floats

    @classmethod
    def of(
        cls, confidence: ArrayLike, right: ArrayLike, cluster: ArrayLike, abstained: ArrayLike
    ) -> ConfidentResponses:
        """Sort responses by confidence."""
        order = np.argsort(-np.asarray(confidence, np.float64), kind="stable")
        columns = (np.asarray(column)[order] for column in (confidence, right, cluster))
        first, second, third = columns
        return cls(first.astype(float), second.astype(float), third.astype(np.int64), np.asarray(abstained, float))

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The index of the last response with each distinct confidence."""
        return np.flatnonzero(np.append(np.diff(self.confidence) != 0, True))

    def curve(self) -> tuple[Floats, Floats, Floats]:
        """Return each threshold with its coverage and its risk."""
        shown = self.ends + 1.0
        wrong = np.cumsum(1 - self.right)[self.ends]
        return self.confidence[self.ends], shown / (len(self.right) + self.abstained.sum()), wrong / shown

    def risk_intervals(self, level: float = LEVEL) -> list[Interval]:
        """Return the risk at every threshold with its interval by question."""
        found, clusters = [], len(self.abstained)
        for end in self.ends.tolist():
            part = self.cluster[: end + 1]
            trials = np.bincount(part, minlength=clusters)
            wrong = np.bincount(part, weights=1 - self.right[: end + 1], minlength=clusters)
            present = trials > 0
            found.append(clustered_wilson(wrong[present].tolist(), trials[present].tolist(), level))
        return found

    def area(self) -> Interval:
        """Return the mean risk over the thresholds, weighted by their responses (AURC)."""
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

    def coverage_at(self, risk: float, level: float = LEVEL) -> Interval:
        """Return the largest coverage whose risk is at most a limit.

        The interval has every coverage at which the data do not reject this risk.
        """
        _, coverage, risks = self.curve()
        bounds = self.risk_intervals(level)

        def largest(values: ArrayLike) -> float:
            return float(np.max(coverage[np.asarray(values) <= risk], initial=0.0))

        return Interval(largest(risks), largest([one.high for one in bounds]), largest([one.low for one in bounds]))

    def _jackknifed(self, statistic: Statistic) -> Interval:
        """Return a statistic between 0 and 1 with an interval from leaving out one question at a time (log odds)."""
        value = float(statistic(np.ones((1, len(self.right))))[0])
        present = np.unique(self.cluster)
        if len(present) < 2:
            return Interval(value, math.nan, math.nan)
        chunk = max(1, _CHUNK_CELLS // len(self.right))
        parts = (present[start : start + chunk, None] for start in range(0, len(present), chunk))
        left_out = np.concatenate([statistic((self.cluster[None, :] != part).astype(float)) for part in parts])
        clusters = len(present)
        error = math.sqrt((clusters - 1) / clusters * float(((left_out - left_out.mean()) ** 2).sum()))
        inner = min(max(value, _ALMOST_NONE), 1 - _ALMOST_NONE)
        reach = scipy.special.stdtrit(clusters - 1, 0.5 + LEVEL / 2) * error / (inner * (1 - inner))
        odds = math.log(inner / (1 - inner))
        return Interval(value, float(scipy.special.expit(odds - reach)), float(scipy.special.expit(odds + reach)))

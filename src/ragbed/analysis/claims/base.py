"""What a claim is checked against, and what a check says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeAlias

from ragbed.analysis.diagnosis.causes import Cause
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.statistics.rates import LEVEL, two_sided
from ragbed.schema import Estimate
from ragbed.testbeds.prompts.strategies import MARK

Verdict: TypeAlias = Literal["supported", "contradicted", "inconclusive", "not_enough_data"]
MIN_QUESTIONS = 30
"""Questions that a measurement needs to count for or against a claim, per model and condition. With fewer, the 95 %
interval of a rate extends 17 points or more around one half, and one more question can turn the verdict around."""
_NOT_LANGUAGE_MODELS = ("baseline", "scripted")
"""Providers whose models follow a fixed rule: they say nothing about language models."""


@dataclass(frozen=True)
class ClaimEvidence:
    """One measurement that supports a claim, contradicts it, or does neither clearly."""

    key: TrialGroup
    what: str
    """What was measured: a key of the words' `claims.what`."""
    value: float
    """A share, or a difference of shares."""
    low: float | None
    high: float | None
    n: int
    """Questions."""
    verdict: Verdict
    p: float | None = None
    """Where there is a test, adjusted for the number of rows (Holm)."""
    at: float | None = None
    """The noise ratio, where there is one."""


@dataclass(frozen=True)
class ClaimFinding:
    """A claim with what is found of it."""

    claim: str
    verdict: Verdict
    evidence: tuple[ClaimEvidence, ...] = ()


@dataclass(frozen=True)
class ClaimInputs:
    """All that claims are checked against."""

    cells: Sequence[Cell]
    all_causes: Sequence[Cause] = field(default=())

    @cached_property
    def causes(self) -> list[Cause]:
        """Return the causes of errors of language models."""
        return [cause for cause in self.all_causes if _is_language_model(cause.model)]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str], list[Cell]]:
        found: dict[tuple[str, str, str], list[Cell]] = {}
        for cell in self.cells:
            is_remedy = MARK in cell.key.profile and cell.table != "remedies"  # claims are of the plain prompt
            if cell.scope != "all" or cell.place.get("arm") is not None or is_remedy:
                continue
            if _is_language_model(cell.key.model) and cell.estimate.questions >= MIN_QUESTIONS:
                found.setdefault((cell.track, cell.table, cell.estimate.metric), []).append(cell)
        return found

    def of(self, table: str, metric: str, track: str = "robust") -> list[Cell]:
        """Return the cells of a metric that have a value, enough questions, and a language model."""
        cells = self._by_place.get((track, table, metric), [])
        return [cell for cell in cells if cell.estimate.value is not None]

    def beside(self, cell: Cell, metric: str, *, table: str = "", noise: float | None = None) -> Estimate | None:
        """Another metric of the same model, data and number of documents; at the same ratio, or at another."""
        ratio = cell.place.get("noise") if noise is None else noise
        for other in self.of(table or cell.table, metric, cell.track):
            same = (other.key, other.place.get("k"), other.place.get("noise"))
            if same == (cell.key, cell.place.get("k"), ratio):
                return other.estimate
        return None


def _is_language_model(model: str) -> bool:
    return model.partition("/")[0] not in _NOT_LANGUAGE_MODELS


def evidence(cell: Cell, what: str, verdict: Verdict, *, p: float | None = None) -> ClaimEvidence:
    """A cell as evidence."""
    one = cell.estimate
    return ClaimEvidence(
        cell.key, what, one.value or 0.0, one.low, one.high, one.questions, verdict, p, cell.place.get("noise")
    )


def against_bound(estimate: Estimate, bound: float) -> Verdict:
    """Whether a rate stays under a bound: its whole interval lies below, or above, or neither."""
    if estimate.low is None or estimate.high is None:
        return "inconclusive"
    return "supported" if estimate.high < bound else "contradicted" if estimate.low > bound else "inconclusive"


def conclude(claim: str, found: Iterable[ClaimEvidence]) -> ClaimFinding:
    """Return the verdict: one counterexample contradicts a general claim, and only unanimous evidence supports it."""
    rows = tuple(found)
    if not rows:
        return ClaimFinding(claim, "not_enough_data")
    verdicts = {row.verdict for row in rows}
    if "contradicted" in verdicts:
        return ClaimFinding(claim, "contradicted", rows)
    return ClaimFinding(claim, "supported" if verdicts == {"supported"} else "inconclusive", rows)


def panels(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    """Cells of one model, data and number of documents together, by noise ratio."""
    found: dict[tuple[TrialGroup, int | None], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.key, cell.place.get("k")), []).append(cell)
    for group in found.values():
        yield sorted(group, key=lambda cell: cell.place.get("noise") or 0.0)


class Gap(NamedTuple):
    """The difference of two estimates that stand for themselves."""

    value: float
    low: float
    high: float
    p: float


def gap_between(first: Estimate, second: Estimate) -> Gap:
    """First minus second, by a z test on the errors that their intervals show."""
    errors = [((one.high or 0.0) - (one.low or 0.0)) / (2 * two_sided(LEVEL)) for one in (first, second)]
    error, gap = math.hypot(*errors), (first.value or 0.0) - (second.value or 0.0)
    reach = two_sided(LEVEL) * error
    return Gap(gap, gap - reach, gap + reach, 2 * NormalDist().cdf(-abs(gap) / error) if error else 1.0)

"""The inputs and findings of claim checks, and the rules shared by all checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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

# Minimum number of questions per model and condition for a measurement to count as evidence. With fewer, the 95%
# confidence interval for a rate near one half extends at least 17 percentage points to each side, and one more question
# can reverse the verdict.
MIN_QUESTIONS = 30
_NOT_LANGUAGE_MODELS = ("baseline", "scripted")  # rule-based providers, whose results say nothing about language models


@dataclass(frozen=True)
class ClaimEvidence:
    """One measurement that supports a claim, contradicts it, or is inconclusive.

    `measure` is a key of `claims.what` in the locale files, `value` is a share or a difference of shares, `p` is the p
    value adjusted for the number of rows (Holm), and `at` is the noise ratio.
    """

    key: TrialGroup
    measure: str
    value: float
    low: float | None
    high: float | None
    n: int  # number of questions
    verdict: Verdict
    p: float | None = None
    at: float | None = None


@dataclass(frozen=True)
class ClaimFinding:
    """A claim with its verdict and evidence."""

    claim: str
    verdict: Verdict
    evidence: tuple[ClaimEvidence, ...] = ()


@dataclass(frozen=True)
class ClaimInputs:
    """The cells and error causes that are used to check claims."""

    cells: Sequence[Cell]
    all_causes: Sequence[Cause] = ()

    @cached_property
    def causes(self) -> list[Cause]:
        """Return the error causes of language models only."""
        return [cause for cause in self.all_causes if _is_language_model(cause.model)]

    @cached_property
    def _by_metric(self) -> dict[tuple[str, str, str], list[Cell]]:
        found: dict[tuple[str, str, str], list[Cell]] = {}
        for cell in self.cells:
            # Claims refer to the plain prompt, except for those about prompting strategies.
            is_plain = MARK not in cell.key.profile or cell.table == "remedies"
            is_usual = cell.scope == "all" and cell.has_usual_distractors and is_plain
            if is_usual and _is_language_model(cell.key.model) and cell.estimate.questions >= MIN_QUESTIONS:
                found.setdefault((cell.track, cell.table, cell.estimate.metric), []).append(cell)
        return found

    def of(self, table: str, metric: str, track: str = "robust") -> list[Cell]:
        """Return a metric's cells for language models, excluding cells with no value or too few questions."""
        cells = self._by_metric.get((track, table, metric), [])
        return [cell for cell in cells if cell.estimate.value is not None]

    def beside(self, cell: Cell, metric: str) -> Estimate | None:
        """Return another metric's estimate for the same table, model, data and condition."""
        names = ("k", "noise", "arm")
        for other in self.of(cell.table, metric, cell.track):
            if other.key == cell.key and all(other.place.get(name) == cell.place.get(name) for name in names):
                return other.estimate
        return None


def _is_language_model(model: str) -> bool:
    return model.partition("/")[0] not in _NOT_LANGUAGE_MODELS


def evidence(cell: Cell, measure: str, verdict: Verdict, *, p: float | None = None) -> ClaimEvidence:
    """Convert a cell to evidence for a claim."""
    estimate = cell.estimate
    return ClaimEvidence(
        cell.key,
        measure,
        estimate.value or 0.0,
        estimate.low,
        estimate.high,
        estimate.questions,
        verdict,
        p,
        cell.place.get("noise"),
    )


def is_below(estimate: Estimate, bound: float) -> Verdict:
    """Return `supported` if a confidence interval is below a bound, `contradicted` if above, else `inconclusive`."""
    if estimate.low is None or estimate.high is None:
        return "inconclusive"
    return "supported" if estimate.high < bound else "contradicted" if estimate.low > bound else "inconclusive"


def conclude(claim: str, found: Iterable[ClaimEvidence]) -> ClaimFinding:
    """Return the verdict on a claim. One counterexample contradicts a claim; only unanimous evidence supports it."""
    rows = tuple(found)
    if not rows:
        return ClaimFinding(claim, "not_enough_data")
    verdicts = {row.verdict for row in rows}
    if "contradicted" in verdicts:
        return ClaimFinding(claim, "contradicted", rows)
    return ClaimFinding(claim, "supported" if verdicts == {"supported"} else "inconclusive", rows)


def panels(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    """Group cells by model, data, number of documents and distractors, and sort each group by noise ratio."""
    found: dict[tuple[TrialGroup, int | None, str | None], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.key, cell.place.get("k"), cell.place.get("arm")), []).append(cell)
    for group in found.values():
        yield sorted(group, key=lambda cell: cell.place.get("noise") or 0.0)


class Gap(NamedTuple):
    """The difference between two independent estimates."""

    value: float
    low: float
    high: float
    p: float


def gap_between(first: Estimate, second: Estimate) -> Gap:
    """Return `first` minus `second`, with a z test based on standard errors derived from their confidence intervals."""
    widths = [(estimate.high or 0.0) - (estimate.low or 0.0) for estimate in (first, second)]
    error = math.hypot(*(width / (2 * two_sided(LEVEL)) for width in widths))
    gap, reach = (first.value or 0.0) - (second.value or 0.0), two_sided(LEVEL) * error
    return Gap(gap, gap - reach, gap + reach, 2 * NormalDist().cdf(-abs(gap) / error) if error else 1.0)

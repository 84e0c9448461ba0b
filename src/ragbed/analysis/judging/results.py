"""Prepare judge results for JSON: rates by condition, agreement with human labels, and agreement between judges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from ragbed.analysis.judging.judge_run import Scope, needs_judge, read_judgements
from ragbed.analysis.judging.labels import LabelledUnit, Labels, check_unlabelled
from ragbed.analysis.judging.request import judge_case
from ragbed.analysis.judging.sample import draw_sample
from ragbed.analysis.judging.tally import JudgedCell, tabulate
from ragbed.analysis.judging.validation import JudgedResult, correct_rates, join_labels, validate_judge
from ragbed.analysis.judging.verdict import Verdict
from ragbed.io.jsonl import write_whole
from ragbed.runs.store import StoredResult


@dataclass(frozen=True)
class CriterionJudgements:
    """A run's judgements for one criterion, loaded on first use.

    Attributes:
        scope: The criterion and the judged responses.
        folder: The run folder of the judgements.
        judges: The judges' model strings.
        labels: Human labels, if there are any.
    """

    scope: Scope
    folder: Path
    judges: Sequence[str]
    labels: Labels | None = None

    @cached_property
    def replies(self) -> list[StoredResult]:
        """The judged responses."""
        return list(self.scope.replies())

    @cached_property
    def judgements(self) -> dict[str, dict[str, Verdict]]:
        """The verdicts by judge and case."""
        return read_judgements(self.folder, self.scope.criterion, self.judges)

    @cached_property
    def cells(self) -> list[JudgedCell]:
        """The counts by judge and condition."""
        return tabulate(self.scope, self.replies, self.judgements)

    @cached_property
    def labelled(self) -> dict[str, list[JudgedResult]]:
        """The results with each judge's verdict and the human label, by judge."""
        labels = self.labels or Labels()
        return {
            judge: join_labels(self.scope, self.replies, verdicts, labels)
            for judge, verdicts in self.judgements.items()
        }

    @property
    def units(self) -> set[LabelledUnit]:
        """The responses that a label can refer to."""
        name = self.scope.criterion.name
        return {LabelledUnit(name, stored.model, stored.case.case, stored.repeat) for stored in self.replies}

    def rates(self) -> Iterator[dict[str, Any]]:
        """Yield the counts and rate for each judge and condition."""
        for judge in self.judgements:
            yield from (cell.as_json() for cell in self.cells if cell.judge == judge)

    def corrected_rates(self) -> Iterator[dict[str, Any]]:
        """Yield each judge's rates by testbed, pooled over conditions and corrected by the labels."""
        for judge, judged in self.labelled.items():
            for group, rate in correct_rates(judged).items():
                counts = {"n": rate.n, "rate": rate.judged, "labels": rate.labels, "questions": rate.questions}
                value, low, high = (None, None, None) if rate.corrected is None else map(float, rate.corrected.rate)
                yield (
                    {"judge": judge, "criterion": self.scope.criterion.name}
                    | group._asdict()
                    | counts
                    | {
                        "corrected": value,
                        "low": low,
                        "high": high,
                    }
                )

    def validations(self) -> Iterator[dict[str, Any]]:
        """Yield each judge's agreement with human labels, by language."""
        for judge, judged in self.labelled.items():
            for validation in validate_judge(judge, self.scope.criterion.name, judged):
                agreement = {name: finite(value) for name, value in validation.agreement._asdict().items()}
                yield {
                    "judge": judge,
                    "criterion": validation.criterion,
                    "lang": validation.lang,
                    "undecided": validation.undecided,
                    "raters": validation.raters,
                    "trusted": validation.distrust is None,
                    "distrust": validation.distrust,
                } | agreement

    def judge_pairs(self) -> Iterator[dict[str, Any]]:
        """Yield the agreement counts for each pair of judges, for the responses in the scope that both judged."""
        criterion = self.scope.criterion
        names = [judge_case(criterion, stored).case for stored in self.replies if needs_judge(criterion, stored)]
        for first, second in combinations(self.judgements, 2):
            one, other = self.judgements[first], self.judgements[second]
            pairs = [(one[name], other[name]) for name in names if name in one and name in other]
            if not pairs:
                continue
            decided = [pair for pair in pairs if all(isinstance(verdict, bool) for verdict in pair)]
            yield {
                "criterion": criterion.name,
                "judges": [first, second],
                "judged": len(pairs),
                "decided": len(decided),
                "agreed": sum(a == b for a, b in decided),
            }


def write_sample(judged: Sequence[CriterionJudgements], size: int, path: Path) -> int:
    """Write `size` responses per criterion for people to label, and return the number written.

    Raises:
        UsageError: The file contains labels, which may have been added while the judge was called.
    """
    drawn = [label for part in judged for label in draw_sample(part.scope, part.replies, part.judgements, size)]
    check_unlabelled(path)
    with write_whole(path) as sink:
        sink.writelines(msgspec.json.encode(label) + b"\n" for label in drawn)
    return len(drawn)


def finite(value: Any) -> Any:  # noqa: ANN401 - any plain value
    """Replace NaN and infinity, which JSON does not support, with None."""
    if isinstance(value, tuple):
        return [finite(part) for part in value]
    if isinstance(value, float):  # including numpy floats, which the JSON encoder rejects
        return float(value) if math.isfinite(value) else None
    return value

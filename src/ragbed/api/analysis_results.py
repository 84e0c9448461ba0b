"""Results of the API functions that analyse runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragbed.api.results import Records
from ragbed.api.tables import TableResult
from ragbed.errors import UnknownName

if TYPE_CHECKING:
    from ragbed.analysis.comparison import Comparison, Flip, IncompleteCounts, Side
    from ragbed.analysis.diagnosis.classify import DiagnosisCounts
    from ragbed.analysis.diagnosis.records import Diagnosis
    from ragbed.analysis.diagnosis.summary import ErrorShare
    from ragbed.analysis.gates import GateResult
    from ragbed.schema import Case

TABLES = ("noise", "rejection", "integration", "counterfactual")


@dataclass(frozen=True, repr=False)
class ComparisonResult(TableResult):
    """A question-by-question comparison of two runs.

    Attributes:
        a: The baseline.
        b: The run compared with the baseline.
        rows: One comparison per condition, with p-values.
        flips: Items whose result differs between A and B.
        sentences: Sentences that summarise the result.
        unpaired: Questions that appear in only one of the runs.
        gates: Results of the `fail_if_worse` gate.
    """

    a: Side
    b: Side
    rows: Sequence[Comparison]
    flips: Sequence[Flip]
    sentences: Sequence[str]
    unpaired: int
    gates: Sequence[GateResult] = ()

    @property
    def passed(self) -> bool:
        """True if no gate failed."""
        return all(gate.state != "failed" for gate in self.gates)

    def records(self) -> Records:
        """Return one row per condition: rates for A and B, their difference, 95% confidence interval and p-values."""
        return Records(
            [
                row.condition._asdict()
                | {"n": row.n, "items": row.items, "unpaired": row.unpaired, "a": row.first, "b": row.second}
                | dict(zip(("difference", "low", "high"), map(float, row.difference), strict=True))
                | {"won": row.won, "lost": row.lost}
                | _name_counts("a", row.incomplete[0])
                | _name_counts("b", row.incomplete[1])
                | {"p": float(row.p), "adjusted": row.adjusted, "decline_p": row.decline_p}
                for row in self.rows
            ],
            f"B ({self.b.model}) compared with A ({self.a.model})",
        )

    def values(self) -> list[dict[str, Any]]:
        """Return the rows with nested confidence intervals, as `ragbed compare --json` prints them."""
        return [
            row.condition._asdict()
            | {"n": row.n, "items": row.items, "unpaired": row.unpaired, "first": row.first, "second": row.second}
            | {"difference": list(row.difference), "won": row.won, "lost": row.lost}
            | _name_counts("first", row.incomplete[0])
            | _name_counts("second", row.incomplete[1])
            | {"p": row.p, "adjusted": row.adjusted, "decline_p": row.decline_p}
            for row in self.rows
        ]


def _name_counts(side: str, counts: IncompleteCounts) -> dict[str, int]:
    return {f"{side}_{name}": count for name, count in counts._asdict().items()}


@dataclass(frozen=True, repr=False)
class JudgeResult(TableResult):
    """Rates based on a run's judgements.

    Attributes:
        run: The run's folder.
        cells: Counts and rates, one row per judge, criterion and condition.
        validations: Each judge's agreement with human labels, if there are any.
        corrected: Rates by testbed, pooled over conditions and corrected by human labels, if there are any.
        judge_pairs: Agreement between each pair of judges, if there are several.
        labels: Number of labels used, and number excluded for each reason.
        criteria: The criteria applied, each with its question for the judge.
        sample: Number of responses written for people to label.
        failed: Number of calls that failed; call `judge` again to retry them.
    """

    run: Path
    cells: Records
    judge_pairs: Records
    criteria: Mapping[str, str]
    validations: Records | None = None
    corrected: Records | None = None
    labels: Mapping[str, Any] | None = None
    sample: int | None = None
    failed: int = 0

    def records(self) -> Records:
        """Return one row per judge, criterion and condition."""
        return Records(self.cells, f"Judged rates of {self.run}")


@dataclass(frozen=True, repr=False)
class DiagnosisResult(TableResult):
    """The classified errors in a run.

    Attributes:
        run: The run's folder.
        path: File with all diagnoses.
        counts: Number of trials by outcome.
        diagnoses: One diagnosis, including evidence, for each trial with a wrong answer.
        cases: The cases of the diagnosed trials, keyed by name.
        is_monitored: Whether the run had a stopping condition (`until`); if so, error shares have no confidence
            intervals.
    """

    run: Path
    path: Path
    counts: DiagnosisCounts
    diagnoses: Sequence[Diagnosis]
    cases: Mapping[str, Case] = field(repr=False)
    is_monitored: bool = False

    def records(self) -> Records:
        """Return the count of each error type and its share of all wrong answers, by model, testbed and language."""
        from ragbed.analysis.diagnosis.records import NAMES
        from ragbed.analysis.diagnosis.summary import type_shares

        names = dict[str, str](NAMES)  # type: ignore[arg-type]
        rows = self._shares("type", type_shares)
        return Records((row | {"meaning": names.get(row["type"], "")} for row in rows), f"Error types of {self.run}")

    def sources(self) -> Records:
        """Return one row per model, testbed, language and source of wrong answers."""
        from ragbed.analysis.diagnosis.summary import source_shares

        return Records(self._shares("source", source_shares), f"Sources of wrong answers in {self.run}")

    def _shares(self, column: str, share: Callable[..., Iterable[ErrorShare]]) -> Iterator[dict[str, Any]]:
        from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, by_group

        for group, found in by_group(self.diagnoses).items():
            for one in share(found, is_monitored=self.is_monitored):
                if one.errors or one.name == UNCLASSIFIED:
                    counts = {column: one.name, "errors": one.errors, "wrong": one.n}
                    yield group._asdict() | counts | dict(zip(("share", "low", "high"), one.bounds(), strict=True))

    def of_type(self, name: str) -> list[Diagnosis]:
        """Return the diagnoses with the given error type: E1 to E12, or `unclassified`.

        Raises:
            UnknownName: There is no such type.
        """
        from ragbed.analysis.diagnosis.records import NAMES
        from ragbed.analysis.diagnosis.summary import UNCLASSIFIED

        if name not in (*NAMES, UNCLASSIFIED):
            raise UnknownName("error type", name, [*NAMES, UNCLASSIFIED])
        return [diagnosis for diagnosis in self.diagnoses if name in (diagnosis.types or (UNCLASSIFIED,))]

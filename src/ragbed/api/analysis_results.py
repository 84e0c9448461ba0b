"""Results of the API functions that analyse runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragbed.api.results import Records
from ragbed.api.tables import TableResult
from ragbed.errors import UnknownName

if TYPE_CHECKING:
    from ragbed.analysis.comparison import Comparison, Flip, IncompleteCounts, Side
    from ragbed.analysis.condition_table import ConditionCounts
    from ragbed.analysis.diagnosis.classify import DiagnosisCounts
    from ragbed.analysis.diagnosis.records import Diagnosis
    from ragbed.analysis.gates import GateResult
    from ragbed.analysis.paper.findings import Findings
    from ragbed.analysis.paper.tables import PaperTable, Tables
    from ragbed.schema import Case
    from ragbed.scoring.disagreements import TrackDisagreement

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
            | {"odds": None if row.odds is None else [bound if isfinite(bound) else None for bound in row.odds]}
            | {"p": row.p, "adjusted": row.adjusted, "decline_p": row.decline_p}
            for row in self.rows
        ]


def _name_counts(side: str, counts: IncompleteCounts) -> dict[str, int]:
    return {f"{side}_{name}": count for name, count in counts._asdict().items()}


@dataclass(frozen=True)
class WrittenAggregates:
    """A file that contains the aggregates of one or more runs.

    Attributes:
        place: Path or URL of the file.
        trials: Number of trials in it.
        questions: Number of distinct questions in it.
        description: Both numbers in words.
    """

    place: str
    trials: int
    questions: int
    description: str


@dataclass(frozen=True, repr=False)
class ScoreResult(TableResult):
    """Scores of one or more runs, by condition.

    Attributes:
        runs: The run folders.
        conditions: Counts and rates for each model and condition.
        disagreements: Responses that two tracks score differently, if requested.
        aggregates: The aggregates file, if one was written; `conditions` is then empty.
    """

    runs: Sequence[Path]
    conditions: Sequence[ConditionCounts] = ()
    disagreements: Sequence[TrackDisagreement] | None = None
    aggregates: WrittenAggregates | None = None

    def records(self) -> Records:
        """Return one row per condition, with counts, rates and the bounds of their confidence intervals."""
        rows = []
        for cell in self.conditions:
            row = cell.as_json()
            rates, row["true_ratio"] = row.pop("rates"), row.pop("correct")  # the rates include another `correct`
            del row["hits"], row["intervals"]
            bounds = {f"{name}_{end}": getattr(cell.rates[name], end) for name in cell.rates for end in ("low", "high")}
            rows.append(row | rates | bounds)  # type: ignore[operator]  # dictionaries
        return Records(rows, "Scores")


@dataclass(frozen=True, repr=False)
class JudgeResult(TableResult):
    """Rates based on a run's judgements.

    Attributes:
        run: The run's folder.
        cells: Counts and rates, one row per judge, criterion and condition.
        validations: Each judge's agreement with human labels, if there are any.
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
    labels: Mapping[str, Any] | None = None
    sample: int | None = None
    failed: int = 0

    def records(self) -> Records:
        """Return one row per judge, criterion and condition. Without human labels, the `corrected` columns are None."""
        rows = []
        for cell in self.cells:
            corrected = (cell["corrected"] or {}).get("rate") or (None, None, None)
            rest = {name: value for name, value in cell.items() if name != "corrected"}
            rows.append(rest | dict(zip(("corrected", "corrected_low", "corrected_high"), corrected, strict=True)))
        return Records(rows, f"Judged rates of {self.run}")


@dataclass(frozen=True, repr=False)
class DiagnosisResult(TableResult):
    """The classified errors in a run.

    Attributes:
        run: The run's folder.
        path: File with all diagnoses.
        counts: Number of trials by outcome.
        diagnoses: One diagnosis, including evidence, for each trial with a wrong answer.
        cases: The cases of the diagnosed trials, keyed by name.
        failed: Number of additional model calls that failed; call `diagnose` again to retry them.
        is_monitored: Whether the run had a stopping condition (`until`); if so, error shares have no confidence
            intervals.
    """

    run: Path
    path: Path
    counts: DiagnosisCounts
    diagnoses: Sequence[Diagnosis]
    cases: Mapping[str, Case] = field(repr=False)
    failed: int = 0
    is_monitored: bool = False

    def records(self) -> Records:
        """Return the count of each error type and its share of all wrong answers, by model, testbed and language."""
        from ragbed.analysis.diagnosis.records import NAMES
        from ragbed.analysis.diagnosis.rerun_results import count_confirmed
        from ragbed.analysis.diagnosis.summary import summarise

        confirmed, names = count_confirmed(self.diagnoses), dict[str, str](NAMES)  # type: ignore[arg-type]
        rows = [
            group.group._asdict()
            | {"type": share.name, "meaning": names.get(share.name, ""), "errors": share.count, "wrong": share.n}
            | dict(zip(("share", "low", "high"), share.bounds(), strict=True))
            | dict(zip(("confirmed", "tested"), confirmed.get((*group.group, share.name), (None, None)), strict=True))
            for group in summarise(self.diagnoses, is_monitored=self.is_monitored)
            for share in group.types
        ]
        return Records(rows, f"Error types of {self.run}")

    def sources(self) -> Records:
        """Return one row per model, testbed, language and source of wrong answers."""
        from ragbed.analysis.diagnosis.summary import summarise

        return Records(
            [
                group.group._asdict()
                | {"source": share.name, "errors": share.count, "wrong": share.n}
                | dict(zip(("share", "low", "high"), share.bounds(), strict=True))
                for group in summarise(self.diagnoses, is_monitored=self.is_monitored)
                for share in group.sources
            ],
            f"Sources of wrong answers in {self.run}",
        )

    def of_type(self, name: str) -> list[Diagnosis]:
        """Return the diagnoses with the given error type: E1 to E17, or `unclassified`.

        Raises:
            UnknownName: There is no such type.
        """
        from ragbed.analysis.diagnosis.records import NAMES
        from ragbed.analysis.diagnosis.summary import UNCLASSIFIED

        if name == UNCLASSIFIED:
            return [diagnosis for diagnosis in self.diagnoses if diagnosis.wrong and not diagnosis.types]
        if name not in NAMES:
            raise UnknownName("error type", name, [*NAMES, UNCLASSIFIED])
        return [diagnosis for diagnosis in self.diagnoses if name in diagnosis.types]


@dataclass(frozen=True, repr=False)
class PaperResult(TableResult):
    """The paper's tables and the conclusions drawn from them.

    Attributes:
        tables: The paper's tables.
        findings: Conclusions that follow from the tables alone.
    """

    tables: Tables
    findings: Findings

    def records(self) -> Records:
        """Return one row per published value: table, language, model, column, and the value as a percentage."""
        rows = []
        for name in TABLES:
            table: PaperTable = getattr(self.tables, name)
            rows += [
                {"table": name, "lang": lang, "model": model, "column": column, "value": value}
                for lang, model, values in table.rows()
                for column, value in zip(table.columns, values, strict=True)
            ]
        return Records(rows, self.tables.source)

"""The input to an export and the summary of its output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UnknownName
from ragbed.interop.exports.frozen import TestbedPart
from ragbed.runs.store import RunStore, StoredResult, kind_of_error
from ragbed.scoring.value import Value
from ragbed.testbeds.feasibility import FeasibilityCounts


@dataclass
class Written:
    """The result of an export: which records were written and which were left out.

    Attributes:
        what: The unit of the counts: cases, trials or models.
        infeasible: The number of infeasible cases by reason.
        conditions: For cases, the numbers of feasible and infeasible cases by condition.
        failed: The trials without a response, each with its model and error type.
        leaves_out: Whether the format cannot represent failed trials.
        notes: Additional messages for the user.
    """

    what: str
    count: int = 0
    infeasible: Counter[str] = field(default_factory=Counter)
    conditions: FeasibilityCounts = field(default_factory=FeasibilityCounts)
    failed: list[str] = field(default_factory=list)
    leaves_out: bool = False
    notes: list[str] = field(default_factory=list)

    @classmethod
    def from_parts(cls, parts: Iterable[TestbedPart]) -> Self:
        """Return the export summary for a frozen testbed."""
        written = cls("cases")
        for part in parts:
            written.count += part.cases
            written.infeasible.update(part.infeasible)
        return written


@dataclass(frozen=True)
class ExportedRun:
    """A run to export.

    Attributes:
        model: The only model to export, or None for all.
        canonical: Whether to sort the records and omit details that differ between otherwise equal runs.
        scorer: A scorer that is not built in, whose scores are added.
    """

    folder: Path
    store: RunStore
    model: str | None = None
    canonical: bool = False
    scorer: str | None = None

    def __post_init__(self) -> None:
        models = [name for name, _ in self.store.models().values()]
        if self.model is not None and self.model not in models:
            raise UnknownName("model", self.model, models)

    def results(self, written: Written) -> Iterator[StoredResult]:
        """Yield the selected results and record those without a response, because some formats leave them out."""
        return (result for result in self.store.results(by_name=self.canonical) if self._counts(result, written))

    def trials(self, written: Written) -> Iterator[tuple[StoredResult, dict[str, Value] | None]]:
        """Yield the selected results as `results` does, with their scores."""
        with TrialTable(self.folder, filter(None, [self.scorer])) as table:
            for result, scores in table.scored(by_name=self.canonical):
                if self._counts(result, written):
                    yield result, scores

    def _counts(self, result: StoredResult, written: Written) -> bool:
        """Return whether a result is exported, and count it."""
        if self.model not in (None, result.model):
            return False
        if result.completion.outcome not in ("ok", "truncated"):
            kind = kind_of_error(result.completion) or result.completion.outcome
            written.failed.append(f"{result.model} on {result.case.case}: {kind}")
            if written.leaves_out:
                return False
        written.count += 1
        return True

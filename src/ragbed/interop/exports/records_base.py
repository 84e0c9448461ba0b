"""What an export is made of, and what it says of itself when it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ragbed.errors import UnknownName, UsageError
from ragbed.interop.exports.frozen import TestbedPart
from ragbed.runs.store import RunStore, StoredResult
from ragbed.runs.trials import kind_of_error
from ragbed.schema import Case
from ragbed.testbeds.prompts import REFUSAL


@dataclass
class Written:
    """What went into a file or folder, and what did not."""

    what: str
    """What is counted: cases, trials, models."""
    count: int = 0
    infeasible: Counter[str] = field(default_factory=Counter)
    """Cases that could not be laid out, by reason."""
    failed: list[str] = field(default_factory=list)
    """Trials without a reply, each with its model and kind of error."""
    leaves_out: bool = False
    """Whether the format has no place for such a trial, so that it is missing there."""
    notes: list[str] = field(default_factory=list)
    """What else the user should know."""

    def count_parts(self, parts: Iterable[TestbedPart]) -> None:
        """Counts the parts of a frozen testbed."""
        for part in parts:
            self.count += part.cases
            self.infeasible.update(part.infeasible)


@dataclass(frozen=True)
class ExportedRun:
    """A run to be written."""

    folder: Path
    store: RunStore
    model: str | None = None
    """The only one that is wanted, where there are several."""
    canonical: bool = False
    """Sorted, and without what differs between equal runs."""

    def __post_init__(self) -> None:
        if self.model is not None and self.model not in self.models:
            raise UnknownName("model of this run", self.model, self.models)

    @property
    def models(self) -> list[str]:
        """Names of the models that were asked."""
        return [name for name, _ in self.store.models().values()]

    def results(self, written: Written) -> Iterator[StoredResult]:
        """The results that are wanted; those without a reply are noted, and left out where they have no place."""
        for result in self.store.results(by_name=self.canonical):
            if self.model not in (None, result.model):
                continue
            if result.completion.outcome != "ok":
                kind = kind_of_error(result.completion) or result.completion.outcome
                written.failed.append(f"{result.model} on {result.case.case}: {kind}")
                if written.leaves_out:
                    continue
            written.count += 1
            yield result

    def need_one_model(self, to: str) -> None:
        """Ends where a format has no place for a second model.

        Raises:
            UsageError: Several were asked, and none is named.
        """
        if self.model is None and len(self.models) > 1:
            told = ", ".join(self.models)
            raise UsageError(f"{to} holds the answers of one model; say by --model which one: {told}.")


def reference_of(case: Case) -> str:
    """The right thing to say, as one text: the answer's parts, or the sentence that declines."""
    if case.expect == "refuse":
        return REFUSAL[case.lang]
    return "; ".join(aliases[0] for aliases in case.answer)

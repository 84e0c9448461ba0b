"""Check a dataset item by item. Findings are streamed; only counts are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragbed.analysis.linting.rules import DatasetContext, Fault, LintFinding, Rule, Severity, View, record
from ragbed.data import Dataset
from ragbed.errors import DataError
from ragbed.testbeds.settings import Settings


@dataclass
class RuleCount:
    """The number of a rule's findings, and of the items and documents that they concern."""

    rule: str
    severity: Severity
    items: int = 0
    documents: int = 0
    findings: int = 0
    _last_line: int | None = None  # all findings for an item are consecutive

    def add(self, line: int, fault: Fault) -> None:
        """Count a finding."""
        self.findings += 1
        self.documents += fault.document
        self.items += self._last_line != line
        self._last_line = line

    def values(self) -> dict[str, Any]:
        """Return the counts as a JSON-compatible dictionary."""
        return {name: value for name, value in asdict(self).items() if not name.startswith("_")}


class DatasetCheck:
    """Checks one dataset.

    Args:
        dataset: The dataset.
        rules: The rules to run; `record` always runs.
        settings: The document mixes that the `mix` rule checks.
        questions: The questions from datasets checked earlier, for `duplicate-question`. This dataset's questions are
            added.
        watch: Called after every line, to show progress.
    """

    def __init__(
        self,
        dataset: Dataset,
        rules: Sequence[Rule],
        settings: Settings | None = None,
        questions: dict[str, dict[int, str]] | None = None,
        watch: Callable[[DatasetCheck], None] | None = None,
    ) -> None:
        self.dataset = dataset
        self.items = self.documents = self.bytes_read = 0
        self.counts: dict[str, RuleCount] = {}
        self._context = DatasetContext(dataset, settings or Settings(), {} if questions is None else questions)
        self._rules = [rule for rule in rules if rule.name != record.name]
        self._watch = watch

    def __getstate__(self) -> dict[str, object]:
        """Return the state to pickle, without the progress callback."""
        return self.__dict__ | {"_watch": None}

    def findings(self) -> Iterator[LintFinding]:
        """Yield the findings in file order and count them. Only one item is in memory at a time."""
        finders = [(rule, rule.bind(self._context)) for rule in self._rules]
        for line in self.dataset.lines():
            self.bytes_read += line.size
            if self._watch is not None:
                self._watch(self)
            if isinstance(line.content, DataError):
                fault = Fault(line.content.field or "", line.content.problem)
                yield self._finding(None, line.number, record, fault)
                continue
            self.items += 1
            self.documents += len(line.content.passages)
            view = View(self.dataset.name, line.number, line.content, line.spelling)
            for rule, find in finders:
                for fault in find(view):
                    yield self._finding(view.item.id, view.line, rule, fault)

    def _finding(self, item: str | None, line: int, rule: Rule, fault: Fault) -> LintFinding:
        self.counts.setdefault(rule.name, RuleCount(rule.name, rule.severity)).add(line, fault)
        where, message, document = fault.where, fault.message, fault.document
        return LintFinding(self.dataset.name, item, line, rule.name, rule.severity, where, message, rule.fix, document)

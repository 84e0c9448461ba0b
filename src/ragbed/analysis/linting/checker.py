"""Check a dataset item by item. Findings are streamed; only counts and statistics are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragbed.analysis.linting.counts import FindingCounts
from ragbed.analysis.linting.rules import DatasetContext, Fault, LintFinding, Rule, View, record
from ragbed.analysis.linting.statistics import Statistics
from ragbed.data import Dataset
from ragbed.errors import DataError
from ragbed.testbeds.settings import Settings


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
        self.tally = FindingCounts()
        self._context = DatasetContext(dataset, settings or Settings(), {} if questions is None else questions)
        self._rules = [rule for rule in rules if rule.name != record.name]
        self._statistics = Statistics()
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
            if finders:
                view = View(self.dataset.name, line.number, line.content, line.spelling)
                self._statistics.add(view)
                for rule, find in finders:
                    for fault in find(view):
                        yield self._finding(view.item.id, view.line, rule, fault)

    def statistics(self) -> dict[str, object] | None:
        """Return the statistics of a checked dataset, or None if it has no items or only the `record` rule ran."""
        if not self._rules or not self.items:
            return None
        return self._statistics.summary() | self._duplicates() | self._context.sums

    def _finding(self, item: str | None, line: int, rule: Rule, fault: Fault) -> LintFinding:
        finding = LintFinding(
            data=self.dataset.name,
            item=item,
            line=line,
            rule=rule.name,
            severity=rule.severity,
            where=fault.where,
            message=fault.message,
            fix=rule.fix,
            definitions=fault.definitions,
            document=fault.document,
        )
        self.tally.add(finding)
        return finding

    def _duplicates(self) -> dict[str, object]:
        # Edited documents are excluded, because they repeat their originals by design.
        rates = {}
        for rule in self._rules:
            if rule.name in ("exact-duplicate", "near-duplicate", "cross-label-duplicate"):
                count = self.tally.count(rule.name)
                documents = count.documents - self.tally.count(rule.name, "contradicts").documents
                rates[rule.name] = {"documents": documents, "of": self._statistics.pooled, "items": count.items}
        return {"duplicates": rates} if rates else {}

"""A dataset looked over, item by item: findings stream out, counts and statistics stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragbed.analysis.linting.counts import FindingCounts
from ragbed.analysis.linting.records import record
from ragbed.analysis.linting.rules import Fault, LintFinding, Rule, Survey, View
from ragbed.analysis.linting.statistics import Statistics
from ragbed.data import Dataset, Line
from ragbed.errors import DataError
from ragbed.testbeds.settings import Settings


class DatasetCheck:
    """One dataset being looked over.

    Args:
        dataset: The file.
        rules: What to look for; `record` is always looked for.
        settings: The mixes that the rule `mix` asks for.
        questions: What earlier datasets asked, for `duplicate-question`; is added to.
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
        self._survey = Survey(dataset, settings or Settings(), {} if questions is None else questions)
        self._rules = [rule for rule in rules if rule.name != record.name]
        self._statistics = Statistics()
        self._watch = watch

    def findings(self) -> Iterator[LintFinding]:
        """Yields what is wrong, in file order, and counts it; holds one item at a time."""
        finders = [(rule, rule.bind(self._survey)) for rule in self._rules]
        for line in self.dataset.lines():
            self.bytes_read += line.size
            if self._watch is not None:
                self._watch(self)
            if isinstance(line.content, DataError):
                yield self._count(self._unreadable(line, line.content))
                continue
            self.items += 1
            self.documents += len(line.content.passages)
            if finders:
                view = View(self.dataset.name, line.number, line.content, line.spelling)
                self._statistics.add(view)
                for rule, find in finders:
                    for fault in find(view):
                        yield self._count(_finding(view, rule, fault))

    def statistics(self) -> dict[str, object] | None:
        """What the dataset is like, once all findings have been taken; None where only records were checked."""
        if not self._rules or not self.items:
            return None
        return self._statistics.summary() | self._duplicates() | self._survey.sums

    def _count(self, finding: LintFinding) -> LintFinding:
        self.tally.add(finding)
        return finding

    def _unreadable(self, line: Line, error: DataError) -> LintFinding:
        return LintFinding(
            data=self.dataset.name,
            item=None,
            line=line.number,
            rule=record.name,
            severity=record.severity,
            where=error.field or "",
            message=error.problem,
            fix=record.fix,
        )

    def _duplicates(self) -> dict[str, object]:
        """Duplicates among supporting and distracting documents; edited ones repeat the true ones by nature."""
        ran = {rule.name for rule in self._rules}
        pooled = self._statistics.pooled
        rates = {}
        for name in ("exact-duplicate", "near-duplicate", "cross-label-duplicate"):
            if name in ran:
                count = self.tally.count(name)
                documents = count.documents - self.tally.count(name, "contradicts").documents
                rates[name] = {"documents": documents, "of": pooled, "items": count.items}
        return {"duplicates": rates} if rates else {}


def _finding(view: View, rule: Rule, fault: Fault) -> LintFinding:
    return LintFinding(
        data=view.data,
        item=view.item.id,
        line=view.line,
        rule=rule.name,
        severity=rule.severity,
        where=fault.where,
        message=fault.message,
        fix=rule.fix,
        definitions=fault.definitions,
        document=fault.document,
    )

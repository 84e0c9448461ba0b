"""Check a dataset item by item, count the findings, and keep some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragbed.analysis.linting.rules import RECORD, RULES, LintFinding, Questions, Rule, Severity, View
from ragbed.data import Dataset
from ragbed.errors import DataError, UnknownName, UsageError

SEVERITIES: tuple[Severity, ...] = ("error", "warning")


@dataclass
class RuleCount:
    """The number of a rule's findings, and of the items and documents that they concern."""

    rule: str
    severity: Severity
    items: int = 0
    documents: int = 0
    findings: int = 0

    def values(self) -> dict[str, Any]:
        """Return the counts as a JSON-compatible dictionary."""
        return asdict(self)


class DatasetCheck:
    """Checks one dataset, and reports the counts and the first findings of each rule.

    Args:
        dataset: The dataset.
        rules: The rules to run; `record` always runs.
        questions: The questions from datasets checked earlier, for `duplicate-question`. This dataset's questions are
            added.
        watch: Called after every line, to show progress.

    Attributes:
        kept: The findings that `run` keeps, by rule.
    """

    def __init__(
        self,
        dataset: Dataset,
        rules: Sequence[Rule],
        questions: Questions | None = None,
        watch: Callable[[DatasetCheck], None] | None = None,
    ) -> None:
        self.dataset, self.name, self.rules = dataset, dataset.name, rules
        self.items = self.documents = self.bytes_read = 0
        self.kept: dict[str, list[LintFinding]] = {}
        self._counts: dict[str, RuleCount] = {}
        self._questions: Questions = {} if questions is None else questions
        self._watch = watch

    def run(self, most: int | None) -> None:
        """Check all items, and keep the first findings of each rule; None keeps all."""
        for finding in self.findings():
            kept = self.kept.setdefault(finding.rule, [])
            if most is None or len(kept) < most:
                kept.append(finding)

    def findings(self) -> Iterator[LintFinding]:
        """Yield the findings in file order and count them. Only one item is in memory at a time."""
        for line in self.dataset.lines():
            self.bytes_read += line.size
            if self._watch is not None:
                self._watch(self)
            if isinstance(line.content, DataError):
                where, place = line.content.field or "", (self.name, None, line.number, RECORD.name, RECORD.severity)
                yield from self._count([LintFinding(*place, where, line.content.problem, RECORD.fix)])
                continue
            self.items += 1
            view = View(self.name, line.number, line.content, line.spelling, self._questions)
            self.documents += len(view.documents)
            for rule in self.rules:
                yield from self._count(list(view.check(rule)))

    def _count(self, findings: list[LintFinding]) -> list[LintFinding]:
        """Count one rule's findings on one item."""
        for one in findings[:1]:
            self._counts.setdefault(one.rule, RuleCount(one.rule, one.severity)).items += 1
        for one in findings:
            self._counts[one.rule].findings += 1
            self._counts[one.rule].documents += one.document
        return findings

    @property
    def counts(self) -> list[RuleCount]:
        """The counts of the rules that have findings, most severe first."""
        return [self._counts[name] for name in RULES if name in self._counts]

    def values(self) -> dict[str, Any]:
        """Return the counts and the kept findings as a JSON-compatible dictionary."""
        return {
            "data": self.name,
            "items": self.items,
            "documents": self.documents,
            "rules": [rule.name for rule in self.rules],
            "counts": [count.values() for count in self.counts],
            "findings": [finding for found in self.kept.values() for finding in found],
        }


def choose_rules(only: Sequence[str] | None = None, skip: Sequence[str] = ()) -> list[Rule]:
    """Return the named rules (by default, all of them), excluding skipped rules."""
    for name in (*(only or ()), *skip):
        if name not in RULES:
            raise UnknownName("rule", name, RULES)
    if RECORD.name in skip:
        raise UsageError(
            "skip=record: the rule `record` cannot be skipped, because records are always checked when a file is read."
        )
    return [rule for rule in RULES.values() if (only is None or rule.name in only) and rule.name not in skip]

"""Counts of findings per rule and definition, as they pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ragbed.analysis.linting.rules import LintFinding, Severity


@dataclass
class RuleCount:
    """How often a rule fires, in all or in one of its senses."""

    rule: str
    severity: Severity
    definition: str | None = None
    items: int = 0
    documents: int = 0
    findings: int = 0


class FindingCounts:
    """Adds findings up; those of one item must come together, so that items are counted without keeping them."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str | None], RuleCount] = {}
        self._last_line: dict[tuple[str, str | None], int | None] = {}

    def add(self, finding: LintFinding) -> None:
        """Counts one finding, in all and in each of its senses."""
        for definition in (None, *finding.definitions):
            key = (finding.rule, definition)
            if key not in self._counts:
                self._counts[key] = RuleCount(finding.rule, finding.severity, definition)
                self._last_line[key] = None
            count = self._counts[key]
            count.findings += 1
            count.documents += finding.document
            if self._last_line[key] != finding.line:
                self._last_line[key] = finding.line
                count.items += 1

    def count(self, rule: str, definition: str | None = None) -> RuleCount:
        """The count of a rule, in all or in one sense; zero where it never fired."""
        return self._counts.get((rule, definition)) or RuleCount(rule, "note", definition)

    @property
    def counts(self) -> list[RuleCount]:
        """All that are not zero, in the order in which they came."""
        return list(self._counts.values())

    def by_severity(self) -> Counter[Severity]:
        """Findings of each severity."""
        severities: Counter[Severity] = Counter({"error": 0, "warning": 0, "note": 0})
        for count in self._counts.values():
            if count.definition is None:
                severities[count.severity] += count.findings
        return severities

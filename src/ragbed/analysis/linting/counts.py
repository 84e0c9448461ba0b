"""Count findings by rule and definition."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ragbed.analysis.linting.rules import LintFinding, Severity


@dataclass
class RuleCount:
    """The number of a rule's findings, in total or under one of its definitions."""

    rule: str
    severity: Severity
    definition: str | None = None
    items: int = 0
    documents: int = 0
    findings: int = 0


class FindingCounts:
    """Counts findings. All findings for an item must be added consecutively, so that items need not be stored."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str | None], RuleCount] = {}
        self._last_line: dict[tuple[str, str | None], int | None] = {}

    def add(self, finding: LintFinding) -> None:
        """Count a finding, in total and under each of its definitions."""
        for definition in (None, *finding.definitions):
            key = (finding.rule, definition)
            count = self._counts.setdefault(key, RuleCount(finding.rule, finding.severity, definition))
            count.findings += 1
            count.documents += finding.document
            count.items += self._last_line.get(key) != finding.line
            self._last_line[key] = finding.line

    def count(self, rule: str, definition: str | None = None) -> RuleCount:
        """Return a rule's count, in total or under one definition; it is zero if there are no findings."""
        return self._counts.get((rule, definition)) or RuleCount(rule, "note", definition)

    @property
    def counts(self) -> list[RuleCount]:
        """Return all non-zero counts, in the order of their first findings."""
        return list(self._counts.values())

    def by_severity(self) -> Counter[Severity]:
        """Return the number of findings by severity."""
        severities: Counter[Severity] = Counter({"error": 0, "warning": 0, "note": 0})
        for count in self._counts.values():
            if count.definition is None:
                severities[count.severity] += count.findings
        return severities

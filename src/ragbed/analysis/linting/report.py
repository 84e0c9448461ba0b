"""Lint reports for datasets: counts by rule, and the findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragbed.analysis.linting import RULES, DatasetCheck, Rule, Severity
from ragbed.analysis.linting.checker import RuleCount
from ragbed.analysis.linting.samples import Samples

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class DatasetReport:
    """The checked rules, the counts and the stored findings for one dataset."""

    check: DatasetCheck
    rules: Sequence[Rule]
    samples: Samples

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.check.dataset.name

    @property
    def counts(self) -> list[RuleCount]:
        """The counts of the rules that have findings, most severe first."""
        places = {name: number for number, name in enumerate(RULES)}
        found = self.check.counts.values()
        return sorted(found, key=lambda count: (SEVERITIES.index(count.severity), places[count.rule]))

    def values(self) -> dict[str, Any]:
        """Return the report as a JSON-compatible dictionary."""
        return {
            "data": self.name,
            "items": self.check.items,
            "documents": self.check.documents,
            "rules": [rule.name for rule in self.rules],
            "counts": [count.values() for count in self.counts],
            "findings": self.samples.as_json(),
        }

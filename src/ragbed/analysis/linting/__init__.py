"""Check a dataset item by item and rule by rule.

To add a rule, write a function with the decorator `rule` in `rules`.
"""

from __future__ import annotations

from ragbed.analysis.linting.checker import DatasetCheck, choose_rules
from ragbed.analysis.linting.rules import RULES, LintFinding, Rule, Severity

__all__ = ["RULES", "DatasetCheck", "LintFinding", "Rule", "Severity", "choose_rules"]

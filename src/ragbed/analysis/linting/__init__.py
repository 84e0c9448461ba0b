"""Check a dataset item by item and rule by rule.

To add a rule, write a function with the `rule` decorator in `item_rules`, and add it to RULES.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.analysis.linting import item_rules as items
from ragbed.analysis.linting.checker import DatasetCheck
from ragbed.analysis.linting.rules import LintFinding, Rule, Severity, record
from ragbed.errors import UnknownName, UsageError

__all__ = ["RULES", "DatasetCheck", "LintFinding", "Rule", "Severity", "choose_rules"]

_ALL_RULES = (
    record,
    *(items.gold_in_negative, items.gold_part_in_negative, items.positive_without_gold, items.gold_in_edit),
    *(items.edit_without_fake, items.slots_groups, items.mix, items.near_duplicate, items.cross_label_duplicate),
    *(items.duplicate_question, items.short_gold, items.single_form, items.flat_list, items.space_in_alias),
    *(items.edge_mark, items.odd_characters, items.markup, items.prompt_words, items.key_phrases),
)
RULES: dict[str, Rule] = {rule.name: rule for rule in _ALL_RULES}


def choose_rules(only: Sequence[str] | None = None, skip: Sequence[str] = ()) -> list[Rule]:
    """Return the named rules (by default, all of them), excluding skipped rules."""
    for name in (*(only or ()), *skip):
        if name not in RULES:
            raise UnknownName("rule", name, RULES)
    if record.name in skip:
        raise UsageError(
            "skip=record: the rule `record` cannot be skipped, because records are always checked when a file is read."
        )
    return [rule for rule in RULES.values() if (only is None or rule.name in only) and rule.name not in skip]

"""Check a dataset item by item and rule by rule.

To add a rule, write a function with the `rule` decorator in the module for its family, and add it to RULES.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.analysis.linting import answers, characters, documents, duplicates
from ragbed.analysis.linting.checker import DatasetCheck
from ragbed.analysis.linting.rules import LintFinding, Rule, Severity, record
from ragbed.errors import UnknownName, UsageError

__all__ = ["RULES", "DatasetCheck", "LintFinding", "Rule", "Severity", "choose_rules"]

_ALL_RULES = (
    record,
    documents.gold_in_negative,
    documents.gold_part_in_negative,
    documents.positive_without_gold,
    documents.gold_in_edit,
    documents.edit_without_fake,
    documents.slots_groups,
    documents.mix,
    duplicates.near_duplicate,
    duplicates.cross_label_duplicate,
    duplicates.duplicate_question,
    answers.short_gold,
    answers.single_form,
    answers.flat_list,
    answers.space_in_alias,
    answers.edge_mark,
    characters.odd_characters,
    characters.markup,
    characters.prompt_words,
    characters.key_phrases,
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

"""Check a dataset item by item and rule by rule.

To add a rule, write a function with the `rule` decorator in the module for its family, and add it to RULES.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.analysis.linting import accidental_matches, answers, characters, duplicates, fakes, leaks, pools
from ragbed.analysis.linting.checker import DatasetCheck
from ragbed.analysis.linting.rules import LintFinding, Rule, Severity, record
from ragbed.errors import UnknownName, UsageError

__all__ = ["RULES", "DatasetCheck", "LintFinding", "Rule", "Severity", "choose_rules"]

_ALL_RULES = (
    record,
    leaks.gold_in_negative,
    leaks.loose_gold_in_negative,
    leaks.gold_part_in_negative,
    leaks.negatives_hold_gold,
    leaks.positive_without_gold,
    leaks.slot_without_positive,
    leaks.gold_inside_longer,
    leaks.question_holds_gold,
    leaks.one_document_holds_all,
    fakes.fake_equals_gold,
    fakes.fake_holds_gold,
    fakes.gold_holds_fake,
    fakes.gold_in_edit,
    fakes.edit_unchanged,
    fakes.edit_without_fake,
    duplicates.both_labels,
    duplicates.exact_duplicate,
    duplicates.near_duplicate,
    duplicates.cross_label_duplicate,
    duplicates.duplicate_question,
    answers.short_gold,
    answers.digits_only_gold,
    answers.single_form,
    answers.single_form_number,
    answers.flat_list,
    answers.space_in_alias,
    answers.unwinnable_slot,
    answers.edge_space,
    answers.edge_punctuation,
    answers.joined_alias,
    answers.repeated_alias,
    characters.odd_characters,
    characters.markup,
    characters.braces,
    characters.prompt_words,
    characters.key_phrases,
    characters.blank_document,
    pools.empty_pool,
    pools.slots_groups,
    pools.mix,
    accidental_matches.accidental_match,
)
RULES: dict[str, Rule] = {rule.name: rule for rule in _ALL_RULES}

ALL = "all"  # selects all rules, including optional ones


def choose_rules(only: Sequence[str] | None = None, skip: Sequence[str] = ()) -> list[Rule]:
    """Return the named rules (by default, all non-optional rules), excluding skipped rules."""
    for name in (*(only or ()), *skip):
        if name not in RULES and name != ALL:
            raise UnknownName("rule", name, (*RULES, ALL))
    if record.name in skip or ALL in skip:
        raise UsageError(
            "skip=record: the rule `record` cannot be skipped, because records are always checked when a file is read."
        )
    if only is None:
        chosen = [rule for rule in RULES.values() if not rule.optional]
    else:
        chosen = [rule for rule in RULES.values() if rule.name in only or ALL in only]
    return [rule for rule in chosen if rule.name not in skip]

"""What is wrong with a dataset, item by item and rule by rule.

To add a rule: a function with the `rule` decorator in the file of its family, and one line in RULES.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.analysis.linting.accidental_matches import accidental_match
from ragbed.analysis.linting.answers import (
    digits_only_gold,
    edge_punctuation,
    edge_space,
    flat_list,
    joined_alias,
    repeated_alias,
    short_gold,
    single_form,
    single_form_number,
    space_in_alias,
    unwinnable_slot,
)
from ragbed.analysis.linting.boundaries import gold_inside_longer
from ragbed.analysis.linting.characters import blank_document, braces, key_phrases, markup, odd_characters, prompt_words
from ragbed.analysis.linting.checker import DatasetCheck
from ragbed.analysis.linting.duplicates import (
    both_labels,
    cross_label_duplicate,
    duplicate_question,
    exact_duplicate,
    near_duplicate,
)
from ragbed.analysis.linting.fakes import (
    edit_unchanged,
    edit_without_fake,
    fake_equals_gold,
    fake_holds_gold,
    gold_holds_fake,
    gold_in_edit,
)
from ragbed.analysis.linting.leaks import (
    gold_in_negative,
    gold_part_in_negative,
    loose_gold_in_negative,
    negatives_hold_gold,
    one_document_holds_all,
    positive_without_gold,
    question_holds_gold,
    slot_without_positive,
)
from ragbed.analysis.linting.pools import empty_pool, mix, slots_groups
from ragbed.analysis.linting.records import record
from ragbed.analysis.linting.rules import LintFinding, Rule, Severity
from ragbed.errors import UnknownName, UsageError

__all__ = ["RULES", "DatasetCheck", "LintFinding", "Rule", "Severity", "choose_rules"]

RULES: dict[str, Rule] = {
    "record": record,
    "gold-in-negative": gold_in_negative,
    "loose-gold-in-negative": loose_gold_in_negative,
    "gold-part-in-negative": gold_part_in_negative,
    "negatives-hold-gold": negatives_hold_gold,
    "positive-without-gold": positive_without_gold,
    "slot-without-positive": slot_without_positive,
    "gold-inside-longer": gold_inside_longer,
    "question-holds-gold": question_holds_gold,
    "one-document-holds-all": one_document_holds_all,
    "fake-equals-gold": fake_equals_gold,
    "fake-holds-gold": fake_holds_gold,
    "gold-holds-fake": gold_holds_fake,
    "gold-in-edit": gold_in_edit,
    "edit-unchanged": edit_unchanged,
    "edit-without-fake": edit_without_fake,
    "both-labels": both_labels,
    "exact-duplicate": exact_duplicate,
    "near-duplicate": near_duplicate,
    "cross-label-duplicate": cross_label_duplicate,
    "duplicate-question": duplicate_question,
    "short-gold": short_gold,
    "digits-only-gold": digits_only_gold,
    "single-form": single_form,
    "single-form-number": single_form_number,
    "flat-list": flat_list,
    "space-in-alias": space_in_alias,
    "unwinnable-slot": unwinnable_slot,
    "edge-space": edge_space,
    "edge-punctuation": edge_punctuation,
    "joined-alias": joined_alias,
    "repeated-alias": repeated_alias,
    "odd-characters": odd_characters,
    "markup": markup,
    "braces": braces,
    "prompt-words": prompt_words,
    "key-phrases": key_phrases,
    "blank-document": blank_document,
    "empty-pool": empty_pool,
    "slots-groups": slots_groups,
    "mix": mix,
    "accidental-match": accidental_match,
}

ALL = "all"
"""A name for all rules, those included that run only when named."""


def choose_rules(only: Sequence[str] | None = None, skip: Sequence[str] = ()) -> list[Rule]:
    """The rules to run: those named, or all that are not optional, less the skipped ones."""
    for name in (*(only or ()), *skip):
        if name not in RULES and name != ALL:
            raise UnknownName("rule", name, (*RULES, ALL))
    if only is None:
        chosen = [rule for rule in RULES.values() if not rule.optional]
    else:
        chosen = [rule for rule in RULES.values() if rule.name in only or ALL in only]
    if record.name in skip or ALL in skip:
        raise UsageError("--skip record: reading a file checks its records, so this rule cannot be skipped.")
    return [rule for rule in chosen if rule.name not in skip]

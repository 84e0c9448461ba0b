"""Diagnosing: why replies are wrong, by the paper's error types and further ones, each with its evidence.

Data flows one way: `said` (which answers a reply gives) → `look` (a trial with all that rules look at) → RULES
→ `classify` (a diagnosis) → `summary` (shares) and `intervening` (asking again with the cause removed).

To add a type: a function that yields its evidence, its name in `record.NAMES`, and one line in RULES.
"""

from __future__ import annotations

from ragbed.diagnose import concepts, distance, manners, measuring, parts, uncertainty
from ragbed.diagnose.look import Rule
from ragbed.diagnose.record import ErrorType

RULES: dict[ErrorType, Rule] = {
    "E1": distance.find_distance,
    "E2": uncertainty.find_uncertainty,
    "E3": concepts.find_confusion,
    "E4": parts.find_merging,
    "E5": parts.find_ignoring,
    "E6": parts.find_misalignment,
    "E7": parts.find_noise_like,
    "E8": manners.find_wrong_words,
    "E9": manners.find_over_trust,
    "E10": manners.find_over_refusal,
    "E11": measuring.find_missed_credit,
    "E12": measuring.find_data_error,
    "E13": measuring.find_failure,
}

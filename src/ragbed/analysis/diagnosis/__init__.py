"""Diagnose why responses are wrong, using the paper's error types and additional ones, each with evidence.

Data flows in one direction: `response_answers` (the answers in a response) → `context` (a trial with everything that
rules use) → RULES → `classify` (a diagnosis) → `summary` (shares) and `reruns` (calls with the cause removed).

To add a type, write a function that yields its evidence, add its name to `records.NAMES`, and add a line to RULES.
"""

from __future__ import annotations

from ragbed.analysis.diagnosis import (
    concepts,
    distance,
    episode_errors,
    further_errors,
    integration_errors,
    uncertainty,
)
from ragbed.analysis.diagnosis.context import Rule
from ragbed.analysis.diagnosis.records import ErrorType

RULES: dict[ErrorType, Rule] = {
    "E1": distance.find_distance,
    "E2": uncertainty.find_uncertainty,
    "E3": concepts.find_confusion,
    "E4": integration_errors.find_merging,
    "E5": integration_errors.find_ignoring,
    "E6": integration_errors.find_misalignment,
    "E7": integration_errors.find_noise_like,
    "E8": further_errors.find_wrong_words,
    "E9": further_errors.find_over_trust,
    "E10": further_errors.find_over_refusal,
    "E11": further_errors.find_missed_credit,
    "E12": further_errors.find_data_error,
    "E13": further_errors.find_failure,
    "E14": episode_errors.find_poor_query,
    "E15": episode_errors.find_ignored_passages,
    "E16": episode_errors.find_early_stop,
    "E17": episode_errors.find_trusted_passage,
}

"""Diagnose why responses are wrong, using the paper's error types and additional ones, each with evidence.

Data flows in one direction: `response_answers` (the answers in a response) → `context` (a trial with everything that
rules use) → `classify` (a diagnosis by RULES) → `summary` (shares).

To add a type, add its name to `records.NAMES`, and write a function in `rules` that yields its evidence.
"""

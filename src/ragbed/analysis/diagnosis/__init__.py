"""Diagnose why responses are wrong, using the paper's error types and additional ones, each with evidence.

Data flows in one direction: `texts` (texts and questions) → `trial` (a wrong trial and its facts) → `rules` (the
evidence) → `summary` (diagnoses and shares).

To add a type, add its name to `records.NAMES`, and write a function in `rules` that yields its evidence.
"""

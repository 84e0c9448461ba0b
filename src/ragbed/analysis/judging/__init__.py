"""Judging: a model says of stored replies what no rule can, and people's labels say how far it can be trusted.

Data flows one way: `criteria` (what is asked) → `request` (a reply as a case for the judge) → `judging` (a run of
its own) → `verdict` (what it said) → `tally` (rates) and `passport` (agreement with people, corrected rates).

To add a criterion: two prompt files and one line in CRITERIA.
"""

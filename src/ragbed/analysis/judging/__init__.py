"""Have a model judge stored responses, and validate the judge against human labels.

Data flows in one direction: `criteria` (the question) → `request` (a response as a case for the judge) → `judge_run`
(a separate run) → `verdict` (the judge's answer) → `tally` (rates) and `validation` (agreement with human labels,
corrected rates).

To add a criterion, write two prompt files and add a line to CRITERIA.
"""

FOLDER = "judge"  # name of the folder for judgements, inside the judged run's folder

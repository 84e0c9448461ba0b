"""Have a model judge stored responses, and validate the judge against human labels.

Data flows in one direction: `criteria` (the questions and their verdicts) → `judge_run` (a separate run) → `labels`
(those of people) → `rates` (rates, agreement with the labels, corrected rates).

To add a criterion, write two prompt files and add a line to CRITERIA.
"""

FOLDER = "judge"  # name of the folder for judgements, inside the judged run's folder

"""The version of the scorers, so that results of different versions are not mixed."""

# Raised when the verdict for a labelled response changes, which `python -m scripts.record verdicts` checks.
SCORER_VERSION = 4

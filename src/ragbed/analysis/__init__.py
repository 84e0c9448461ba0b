"""From scored trials to metrics, comparisons, claims and diagnoses."""

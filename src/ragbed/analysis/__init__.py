"""Compute metrics, comparisons, claims and diagnoses from scored trials."""

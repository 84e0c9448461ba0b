"""Compute metrics, comparisons and diagnoses from scored trials."""

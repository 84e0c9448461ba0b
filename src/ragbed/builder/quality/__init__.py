"""Measure the quality of a dataset, compare it with RGB's values and check gates (docs/reference/build.md)."""

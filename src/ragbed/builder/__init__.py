"""Build a dataset from feeds, pages or documents; each step has its own module."""

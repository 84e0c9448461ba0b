"""Build a dataset from feeds, pages or documents: one file per step."""

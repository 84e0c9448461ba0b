"""Build a dataset from feeds, pages or documents, with one module per step."""

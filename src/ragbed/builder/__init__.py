"""Making a dataset from the outside world: one file per step, named for what it makes."""

"""The table of scored trials, from which every number in tables, pages and exports is computed."""

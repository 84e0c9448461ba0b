"""The viewer, for browsing every case in one or more runs, even while they are in progress.

`open_runs` keeps the runs in the given folders open. `indexing` writes a run's `index`, a cache file. `queries` finds
the trials that match a filter or a search, and `app` serves them to the pages in `static/`.
"""

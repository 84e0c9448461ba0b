"""The viewer: browse every case of one or many runs, also while they are in progress.

`open_runs` keeps the runs of some folders open. `indexing` writes the `index` of a run, a cache file. `queries` finds
the trials that match a filter or a search, and `app` serves them to the pages in `static/`.
"""

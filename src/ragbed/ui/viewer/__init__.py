"""The viewer, for browsing every case in one or more runs, even while they are in progress.

`open_runs` keeps the runs in the given folders open. `keeper` is a process that scores new results and adds the texts
to search (`search_index`). `queries` finds the trials that match a filter or a search, and `app` serves them to the
pages in `static/`.
"""

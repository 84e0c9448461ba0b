"""The viewer: every case of one or many runs in the browser, also while they are at work.

`shelf` keeps the runs of some folders open; `indexing` reads a run and writes its `index`, a file that can be thrown
away; `library` answers from the indexes which trials fit a filter or words and reads them from the runs; `app` serves
that to the pages in `static/`.
"""

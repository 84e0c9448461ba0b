"""Review a built dataset in the browser: people accept, fix or reject items (docs/how-to/build.md).

`queue` holds the items and their flags, `points` the decisions that an item needs, `log` the decisions with author and
time, `state` their result. `session` accepts decisions, `app` serves the pages in `static/`, and `apply` writes the
reviewed dataset.
"""

"""Let people review a dataset in the browser and accept, fix or reject its items (docs/how-to/build.md).

`queue` contains the items and their flags, `points` lists the points to decide for an item, `log` stores the decisions
with author and time, and `state` derives each item's result. `session` accepts decisions, `app` serves the pages in
`static/`, and `apply` writes the reviewed dataset.
"""

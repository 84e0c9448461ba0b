"""Let people review a dataset in the browser and accept, fix or reject its items (docs/how-to/build.md).

`items` has the items with their flags and the points to decide, `log` stores the decisions with author and time, and
`session` takes decisions and derives the state of each item. `app` and `item_page` serve the pages in `static/`, and
`apply` writes the reviewed dataset.
"""

"""The review: people accept, fix or reject what was built, in the browser (requirements §15.1, condition 10).

`docket` holds the items and what is flagged in them, `points` says what there is to decide about an item, `log` keeps
who decided what and when, `standing` follows from it, `desk` takes decisions; `app` serves that to the pages in
`static/`, and `applying` writes the dataset that comes of it.
"""

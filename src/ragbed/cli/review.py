"""`ragbed review`: review dataset items in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragbed.cli.console import print_json, print_table, say
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.job_specs import ReviewSpec


@command()
def review(spec: ReviewSpec, *, json: Json = False) -> None:
    """Accept, fix or reject dataset items in the browser.

    DIR is a build folder, and FILE is any dataset. Flagged items come first; the rest are drawn at random, and the page
    shows an upper bound on the fraction of wrong items and how many more items to review. You decide on each point of
    an item (question, answer, relevance labels, false answer and edited passages), or on all of them with one key.

    Every decision is stored in DIR/review/decisions.jsonl (NAME.review/ for a file) with its time, and can be undone. A
    review has one rater. Only this machine can open the page, and only with the printed URL.

    --apply also works while the page is open. It writes the dataset without rejected items and with all fixes;
    DIR2/review/ lists every removal and change with its reason. Items without a decision are kept unchanged.

    \b
    Examples:
      ragbed review builds/news
      ragbed review builds/news --rater ada --open
      ragbed review builds/news --apply builds/news-reviewed
    """
    from ragbed.api import serving
    from ragbed.cli.pages import serve_page

    if spec.apply is None:
        serve_page(serving.open_review(spec), "Decisions are saved immediately.", open_=spec.open_)
        return
    from ragbed.reporting.table import Table
    from ragbed.ui.review.apply import CHANGED, REMOVED

    result = serving.review.start(spec)
    if isinstance(result, serving.ReviewResult):
        counts = result.applied
        rows = [{"items": name.replace("_", " "), "count": getattr(counts, name)} for name in counts.__struct_fields__]
        print_table(Table(rows, "Reviewed items"), to_stderr=json)
        say(f"{result.path}: {REMOVED} and {CHANGED} list every removal and change with its reason.")
        if result.quality is not None:
            say(result.quality)
        if json:
            print_json({"folder": str(result.path), "applied": counts})

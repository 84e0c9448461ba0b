"""`ragbed review`: review dataset items in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragbed.cli.console import print_json, print_table, print_tables, say
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.job_specs import ReviewSpec
    from ragbed.api.serving import ReviewResult
    from ragbed.ui.review.log import PointDecision
    from ragbed.ui.review.state import ReviewComparison


@command()
def review(spec: ReviewSpec, *, json: Json = False) -> None:
    """Accept, fix or reject dataset items in the browser.

    DIR is a build folder, and FILE is any dataset. Flagged items come first; the rest are drawn at random, and the page
    shows an upper bound on the fraction of wrong items and how many more items to review. You decide on each point of
    an item (question, answer, relevance labels, false answer and edited passages), or on all of them with one key.

    Every decision is stored in DIR/review/decisions.jsonl (NAME.review/ for a file) with its time, and can be undone. A
    review has one rater. For a second opinion, let another person review a copy of the data, and --compare the
    decisions: it prints the agreement (percent, Cohen's kappa, Gwet's AC1) and the points on which you differ. Only
    this machine can open the page, and only with the printed URL.

    --apply also works while the page is open. It writes the dataset without rejected items and with all fixes;
    DIR2/review/ lists every removal and change with its reason. Items without a decision are kept unchanged.

    \b
    Examples:
      ragbed review builds/news
      ragbed review builds/news --rater ada --open
      ragbed review builds/news --compare copy/news/review/decisions.jsonl
      ragbed review builds/news --apply builds/news-reviewed
    """
    from ragbed.api import serving
    from ragbed.cli.pages import serve_page

    if spec.compare is None and spec.apply is None:
        serve_page(serving.open_review(spec), "Decisions are saved immediately.", open_=spec.open_)
        return
    result = serving.review.start(spec)
    if isinstance(result, serving.ReviewResult):
        _print_result(result, to_json=json)


def _print_result(result: ReviewResult, *, to_json: bool) -> None:
    from ragbed.reporting.table import Table
    from ragbed.ui.review.apply import CHANGED, REMOVED

    summary: dict[str, object] = {}
    if result.compared is not None:
        _print_comparison(result.compared, to_stderr=to_json)
        summary = {"file": str(result.path), "compared": result.compared}
    elif result.applied is not None:
        counts = result.applied
        rows = [{"items": name.replace("_", " "), "count": getattr(counts, name)} for name in counts.__struct_fields__]
        print_table(Table(rows, "Reviewed items"), to_stderr=to_json)
        say(f"{result.path}: {REMOVED} and {CHANGED} list every removal and change with its reason.")
        if result.quality is not None:
            say(result.quality)
        summary = {"folder": str(result.path), "applied": counts}
    if to_json:
        print_json(summary)


def _print_comparison(compared: ReviewComparison, *, to_stderr: bool) -> None:
    from ragbed.reporting.numbers import show_interval
    from ragbed.reporting.table import Table

    ours, theirs = compared.raters
    rows = [
        {"accepted": one.kind, "n": one.n, "agreed %": show_interval(one.agreed)}
        | {"kappa": show_interval(one.kappa, 1), "AC1": show_interval(one.ac1, 1)}
        for one in compared.agreement
    ]
    if not rows:
        say(f"{ours} and {theirs} have not decided the same items yet.")
        return
    points = [
        {"item": one.item, "point": one.point, f"A: {ours}": _describe(one.ours), f"B: {theirs}": _describe(one.theirs)}
        for one in compared.differences
    ]
    print_tables([Table(rows, f"Agreement of {ours} and {theirs}"), Table(points, "Differences")], to_stderr=to_stderr)


def _describe(decision: PointDecision) -> str:
    fix = decision.fix if isinstance(decision.fix, str) else " / ".join(decision.fix or ())
    return " ".join(filter(None, (decision.verdict, fix, decision.reason)))

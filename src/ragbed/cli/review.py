"""`ragbed review`: review dataset items in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_table, print_tables, say

if TYPE_CHECKING:
    from ragbed.api.serving import ReviewResult
    from ragbed.ui.review.log import PointDecision
    from ragbed.ui.review.state import ReviewComparison


@click.command()
@click.argument("path", type=options.LocalPath(), metavar="DIR|FILE")
@options.option(
    "--rater",
    metavar="NAME",
    show_default="the stored name, or your user name",
    help="Name to store with your decisions.",
)
@options.option(
    "--target",
    type=click.FloatRange(0.001, 0.999),
    metavar="SHARE",
    show_default="0.05",
    help="Review until the upper confidence bound on the share of incorrect items is below this value.",
)
@options.option(
    "--port",
    type=click.IntRange(0, 65_535),
    show_default="7717, or any free port",
    help="Local port to listen on.",
)
@options.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
@options.option(
    "--compare",
    type=options.LocalPath(),
    metavar="FILE",
    help="Show the agreement with another rater's decisions in FILE and exit.",
)
@options.option(
    "--apply", type=options.LocalPath(), metavar="DIR2", help="Write the reviewed dataset to a new folder and exit."
)
@options.json_option
@options.config_option
def review(
    path: Path,
    rater: str | None,
    target: float | None,
    port: int | None,
    open_: bool,
    compare: Path | None,
    apply: Path | None,
    json: bool,
) -> None:
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
    from ragbed.cli.console_progress import ConsoleProgress
    from ragbed.cli.pages import serve_page

    progress = ConsoleProgress()
    if compare is None and apply is None:
        serve_page(
            serving.open_review(path, rater, target, port, progress), "Decisions are saved immediately.", open_=open_
        )
        return
    result = serving.review(path, rater=rater, target=target, compare=compare, apply=apply, progress=progress)
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

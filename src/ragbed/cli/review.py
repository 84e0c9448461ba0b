"""`ragbed review`: review dataset items in the browser."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_table, say
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.analysis.statistics.rates import Interval
    from ragbed.api.serving import ReviewResult
    from ragbed.ui.review.figures import ReviewComparison
    from ragbed.ui.review.records import PointDecision


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
@options.option("--export", type=options.LocalPath(), metavar="FILE", help="Write review decisions to FILE and exit.")
@options.option(
    "--import", "import_", type=options.LocalPath(), metavar="FILE", help="Import review decisions from FILE and exit."
)
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
    target: str | None,
    port: int | None,
    open_: bool,
    export: Path | None,
    import_: Path | None,
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
      ragbed review builds/news --export ada.jsonl
      ragbed review builds/news --import ada.jsonl
      ragbed review builds/news --compare bo.jsonl
      ragbed review builds/news --apply builds/news-reviewed
    """
    from ragbed.api import serving
    from ragbed.cli.console_progress import ConsoleProgress
    from ragbed.cli.pages import serve_page

    share = None if target is None else _read_share(target)
    progress = ConsoleProgress()
    if export is None and import_ is None and compare is None and apply is None:
        page = serving.open_review(path, rater, share, port, progress)
        serve_page(page, "Every decision is saved immediately.", open_=open_)
        return
    result = serving.review(
        path,
        rater=rater,
        target=share,
        export=export,
        import_=import_,
        compare=compare,
        apply=apply,
        progress=progress,
    )
    if isinstance(result, serving.ReviewResult):
        _print_result(result, is_export=export is not None, to_json=json)


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--target {text} is not a valid fraction. Use a number from 0.001 to 0.999, e.g. 0.05."
        ) from None


def _print_result(result: ReviewResult, *, is_export: bool, to_json: bool) -> None:
    from ragbed.ui.review.apply import CHANGED, REMOVED

    if result.applied is not None:
        counts = result.applied
        rows = [(name.replace("_", " "), getattr(counts, name)) for name in counts.__struct_fields__]
        print_table("Reviewed items", ("items", "count"), rows, to_stderr=to_json)
        say(f"{result.path}: {REMOVED} and {CHANGED} list every removal and change with its reason.")
        if result.quality is not None:
            say(result.quality)
        summary: dict[str, object] = {"folder": str(result.path), "applied": counts}
    elif result.compared is not None:
        _print_comparison(result.compared, to_stderr=to_json)
        summary = {"file": str(result.path), "compared": result.compared}
    elif is_export:
        say(f"Wrote {result.lines:,} lines to {result.path}.")
        summary = {"file": str(result.path), "lines": result.lines}
    else:
        say(f"Imported {result.lines:,} new lines from {result.path}. Lines that were already in the log were skipped.")
        summary = {"file": str(result.path), "added": result.lines}
    if to_json:
        print_json(summary)


def _print_comparison(compared: ReviewComparison, *, to_stderr: bool) -> None:
    ours, theirs = compared.raters
    rows = [
        (one.kind, one.n, _interval(one.agreed, 100), _interval(one.kappa, 1), _interval(one.ac1, 1))
        for one in compared.agreement
    ]
    if not rows:
        say(f"{ours} and {theirs} have not decided the same items yet.")
        return
    columns = ("accepted", "n", "agreed %", "kappa", "AC1")
    print_table(f"Agreement of {ours} and {theirs}", columns, rows, to_stderr=to_stderr)
    points = [(one.item, one.point, _describe(one.ours), _describe(one.theirs)) for one in compared.differences]
    if points:
        print_table("Differences", ("item", "point", ours, theirs), points, to_stderr=to_stderr)


def _interval(interval: Interval, scale: int) -> str:
    if math.isnan(interval.value):
        return "–"
    value, low, high = (f"{scale * bound:.{1 if scale == 100 else 2}f}" for bound in interval)
    return f"{value} [{low}, {high}]"


def _describe(decision: PointDecision) -> str:
    fix = decision.fix if isinstance(decision.fix, str) else " / ".join(decision.fix or ())
    return " ".join(filter(None, (decision.verdict, fix, decision.reason)))

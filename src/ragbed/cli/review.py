"""`ragbed review`: review built items in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ragbed.cli import options
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.api.serving import ReviewResult


@click.command()
@click.argument("path", type=options.LocalPath(), metavar="DIR|FILE")
@options.option(
    "--raters",
    type=click.Choice(["1", "2"]),
    help="People who decide each item, independently of each other. Default: 1.",
)
@options.option(
    "--target", metavar="SHARE", help="Fraction of wrong items that the sample must rule out. Default: 0.05."
)
@options.option("--port", type=click.IntRange(0, 65_535), help="Port of 127.0.0.1. Default: 7717, or any free one.")
@options.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
@options.option("--export", type=options.LocalPath(), metavar="FILE", help="Only write all decisions to a file.")
@options.option(
    "--import", "import_", type=options.LocalPath(), metavar="FILE", help="Only add the decisions of a file."
)
@options.option(
    "--apply", type=options.LocalPath(), metavar="DIR2", help="Only write the reviewed dataset to a new folder."
)
@options.json_option
@options.config_option
def review(
    path: Path,
    raters: str | None,
    target: str | None,
    port: int | None,
    open_: bool,
    export: Path | None,
    import_: Path | None,
    apply: Path | None,
    json: bool,
) -> None:
    """Review built items in the browser: accept, fix or reject.

    DIR is the folder of a build, FILE any dataset. Flagged items come first; the rest is drawn at random, and the page
    shows an upper bound for the fraction of wrong items and how many more to review. You decide questions, answers with
    their aliases, relevance labels, whether a search can find it, whether it is known already, false answers and every
    edited passage one by one, or all with one key.

    Every decision is stored in DIR/review/decisions.jsonl (NAME.review/ for a file) with rater and time, and can be
    undone. With --raters 2, two people decide each item independently; then the page shows their agreement and the
    differences. Only this machine can open the page, and only with the printed URL.

    --apply also works while the page is open. It writes the dataset without rejected items and with all fixes;
    DIR2/review/ lists every removal and change with its reason. Items without a decision stay as they are; items on
    which two raters differ are left out.

    \b
    Examples:
      ragbed review builds/news
      ragbed review builds/news --raters 2 --open
      ragbed review builds/news --export ada.jsonl
      ragbed review builds/news --import ada.jsonl
      ragbed review builds/news --apply builds/news-reviewed
    """
<<<<<<< HEAD
    from ragbed.ui.review.open_review import open_review

    if sum(one is not None for one in (export, import_, apply)) > 1:
        raise UsageError("--export, --import and --apply: one at a time.")
    is_served = export is None and import_ is None and apply is None
    if is_served:
        from ragbed.ui.server import need_serve

        need_serve()
    chosen: Literal[1, 2] | None = None if raters is None else 2 if raters == "2" else 1
    with open_review(path, chosen, _read_share(target), _Watch().tell, writes=apply is None) as (session, log):
        _tell_what_is_odd(session, log)
        if export is not None:
            _export(log, export, json=json)
        elif import_ is not None:
            _import(session, import_, json=json)
        elif apply is not None:
            _apply(session, apply, json=json)
        else:
            _serve(session, path, port, open_=open_)


def _read_share(told: str | None) -> float | None:
    if told is None:
        return None
    try:
        share = float(told)
    except ValueError:
        share = 0.0
    if not 0.001 <= share < 1:
        raise UsageError(f"--target {told}: give a share from 0.001 to less than 1, as 0.05.")
    return share


def _tell_what_is_odd(session: ReviewSession, log: Log) -> None:
    from ragbed.cli.console import say

    if log.torn:
        say(
            f"{log.path.name}: the last line is incomplete ({log.torn} bytes). It was never confirmed and does not "
            "count; the next decision replaces it."
        )
    if session.state.stale:
        say(
            f"{log.path.name}: decisions about items that are gone or have changed since: {len(session.state.stale)}; "
            "they stay in the log and do not count."
        )


def _export(log: Log, target: Path, *, json: bool) -> None:
    from ragbed.cli.console import print_json, say
    from ragbed.io.jsonl import write_whole
    from ragbed.ui.review.log import pack

    lines = log.read()
    if target.resolve() == log.path.resolve():
        raise UsageError(f"--export {target} is the log itself; name another file.")
    with write_whole(target) as sink:
        sink.write(pack(lines))
    say(f"{target} written; lines: {len(lines):,}.")
    if json:
        print_json({"file": str(target), "lines": len(lines)})


def _import(session: ReviewSession, source: Path, *, json: bool) -> None:
    from ragbed.cli.console import print_json, say

    added = session.take_in(source)
    say(f"{source} taken in; new lines: {added:,}. Those that were here already are left.")
    if json:
        print_json({"file": str(source), "added": added})


def _apply(session: ReviewSession, folder: Path, *, json: bool) -> None:
    from ragbed.cli.console import print_json, print_table, say
    from ragbed.cli.quality import ship_quality
    from ragbed.ui.review.apply import CHANGED, REMOVED, apply_review

    applied = apply_review(session.state, folder)
    rows = [(name.replace("_", " "), getattr(applied, name)) for name in applied.__struct_fields__]
    print_table("What came of the review", ("items", "count"), rows, to_stderr=json)
    say(f"{folder}: {REMOVED} and {CHANGED} list every removal and change, with its reason.")
    if applied.written:
        ship_quality(folder)
    if json:
        print_json({"folder": str(folder), "applied": applied})


def _serve(session: ReviewSession, path: Path, port: int | None, *, open_: bool) -> None:
    from ragbed.cli.console import say
    from ragbed.ui.review.app import make_app
    from ragbed.ui.review.provenance import Provenance
    from ragbed.ui.server import open_port, serve

    folder = path if path.is_dir() else path.parent
    app = make_app(session, Provenance(folder))
    door = open_port(port)
    flagged = sum(bool(entry.flags) for entry in session.queue.entries.values())
    click.echo(door.address)
    say(
        f"{len(session.queue.entries):,} items, {flagged:,} of them flagged; open the address above in a browser. "
        "Ctrl-C ends it; every decision is kept at once."
=======
    from ragbed.api import serving
    from ragbed.cli.console_progress import ConsoleProgress
    from ragbed.cli.pages import serve_page

    people: Literal[1, 2] | None = None if raters is None else 2 if raters == "2" else 1
    share = None if target is None else _read_share(target)
    progress = ConsoleProgress()
    if export is None and import_ is None and apply is None:
        page = serving.open_review(path, people, share, port, progress)
        serve_page(page, "Every decision is stored at once.", open_=open_)
        return
    result = serving.review(
        path, raters=people, target=share, export=export, import_=import_, apply=apply, progress=progress
>>>>>>> apb
    )
    if isinstance(result, serving.ReviewResult):
        _print_result(result, is_export=export is not None, to_json=json)


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--target {text}: allowed are 0.001 to less than 1, e.g. 0.05.") from None


def _print_result(result: ReviewResult, *, is_export: bool, to_json: bool) -> None:
    from ragbed.cli.console import print_json, print_table, say
    from ragbed.ui.review.apply import CHANGED, REMOVED

    if result.applied is not None:
        counts = result.applied
        rows = [(name.replace("_", " "), getattr(counts, name)) for name in counts.__struct_fields__]
        print_table("Reviewed items", ("items", "count"), rows, to_stderr=to_json)
        say(f"{result.path}: {REMOVED} and {CHANGED} list every removal and change, with its reason.")
        if result.quality is not None:
            say(result.quality)
        summary: dict[str, object] = {"folder": str(result.path), "applied": counts}
    elif is_export:
        say(f"{result.path} written; lines: {result.lines:,}.")
        summary = {"file": str(result.path), "lines": result.lines}
    else:
        say(
            f"{result.path} imported; new lines: {result.lines:,}. Lines that were in the log already are not repeated."
        )
        summary = {"file": str(result.path), "added": result.lines}
    if to_json:
        print_json(summary)

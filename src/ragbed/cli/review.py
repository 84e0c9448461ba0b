"""`ragbed review`: people check what was built, in the browser."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ragbed.cli import options
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.ui.review.log import Log
    from ragbed.ui.review.session import ReviewSession


@click.command()
@click.argument("path", type=options.LocalPath(), metavar="DIR|FILE")
@options.option(
    "--raters", type=click.Choice(["1", "2"]), help="Two decide each item unseen by each other; default: 1."
)
@options.option("--target", metavar="SHARE", help="Of wrong items, to be ruled out by the sample; default: 0.05.")
@options.option("--port", type=click.IntRange(0, 65_535), help="Of 127.0.0.1; default: 7717, or any that is free.")
@options.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
@options.option("--export", type=options.LocalPath(), metavar="FILE", help="Only write all decisions to a file.")
@options.option(
    "--import",
    "import_",
    type=options.LocalPath(),
    metavar="FILE",
    help="Only take in decisions made elsewhere.",
)
@options.option(
    "--apply", type=options.LocalPath(), metavar="DIR2", help="Only write what came of it, as a new dataset."
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
    """Check what was built, in the browser: accept, fix or reject.

    DIR is the folder of a build, FILE any dataset. What rules flag comes first; the rest is drawn at random, and the
    page says how many items are wrong at the most, and how many more to look at. Questions, answers with their aliases,
    stances, whether a search can find it, whether it is known already, false answers and every edited stretch are
    decided one by one, or together with one key.

    Every decision is kept in DIR/review/decisions.jsonl (NAME.review/ for a file), with who and when, and can be
    undone. With --raters 2 two people decide each item without seeing what the other says; then come agreement and the
    list of what they differ on. Only this machine can open the page, and only by the printed address.

    --apply also works while the page is open. It writes the dataset without what was rejected and with what was fixed;
    DIR2/review/ lists every removal and change with its reason. Items that nobody has decided stay as they are; those
    on which two raters differ are left out.

    \b
    Examples:
      ragbed review builds/news
      ragbed review builds/news --raters 2 --open
      ragbed review builds/news --export ada.jsonl
      ragbed review builds/news --import ada.jsonl
      ragbed review builds/news --apply builds/news-reviewed
    """
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
    )
    if open_:
        click.launch(door.address)
    try:
        serve(door, app)
    except KeyboardInterrupt:
        say("Closed.")


class _Watch:
    """Says on standard error that items are being looked through, where that takes long."""

    _EVERY_S = 3

    def __init__(self) -> None:
        self._said = time.monotonic()

    def tell(self, name: str, number: int) -> None:
        """Of a dataset, how many items are done."""
        from ragbed.cli.console import say

        if time.monotonic() - self._said >= self._EVERY_S:
            self._said = time.monotonic()
            say(f"{name}: {number:,} items looked through for what people should see first (kept for the next time)")

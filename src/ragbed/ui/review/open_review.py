"""From what a user names to a review at work: data, flags, log and lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from ragbed.errors import RagbedError, UsageError
from ragbed.io.locations import open_regular, report_errors
from ragbed.runs.lock import hold
from ragbed.ui.review.flags import find_flags
from ragbed.ui.review.log import Log
from ragbed.ui.review.queue import ReviewQueue, find_datasets
from ragbed.ui.review.records import Begun
from ragbed.ui.review.session import ReviewSession, now

NAME = "decisions.jsonl"


@contextmanager
def open_desk(
    path: Path,
    raters: Literal[1, 2] | None,
    target: float | None,
    watch: Callable[[str, int], None] = lambda *_: None,
    *,
    writes: bool = True,
) -> Iterator[tuple[ReviewSession, Log]]:
    """Open the review of a build's folder or a dataset; one process at a time.

    The log changes only where options set another number of raters or another target.

    Args:
        path: The folder or the file.
        raters: Who decide each item; None: as it was begun, or one.
        target: The share of wrong items to rule out; None: as it was begun, or 5 %.
        watch: Told of each dataset how many items are looked through for flags.
        writes: Whether decisions may be added. If not, a copy of the log is read, so that the page may run meanwhile.

    Raises:
        UsageError: Something was decided already with another number of raters.
    """
    datasets, folder = find_datasets(path)
    _make_room(folder)
    with hold(folder) if writes else nullcontext(), TemporaryDirectory() as scratch:
        docket = ReviewQueue(datasets, find_flags(datasets, folder, watch))
        log = Log(folder / NAME if writes else _copy(folder / NAME, Path(scratch)))
        default = Begun(at=now(), data=docket.data)
        desk = ReviewSession(docket, log, default)
        before = desk.standing.begun
        if raters not in (None, before.raters) and desk.standing.has_decisions():
            raise UsageError(
                f"--raters {raters}: {log.path} has decisions made with --raters {before.raters}, which would count "
                f"otherwise. Go on with --raters {before.raters}, or begin anew in a copy of the data without it."
            )
        asked = Begun(
            at=before.at,
            data=docket.data,
            raters=raters or before.raters,
            target=target or before.target,
            seed=before.seed,
        )
        if before is default or asked != before:
            desk.begin(Begun(at=now(), data=asked.data, raters=asked.raters, target=asked.target, seed=asked.seed))
        if (asked.raters, asked.target) != (before.raters, before.target):
            desk.save_settings()
        yield desk, log


def _copy(log: Path, folder: Path) -> Path:
    """A copy of the log; a line that is being written at this moment is cut there, and not in the log."""
    with report_errors(log, "read"), suppress(FileNotFoundError), open_regular(log) as source:
        (folder / NAME).write_bytes(source.read())
    return folder / NAME


def _make_room(folder: Path) -> None:
    """The folder of the review, in which something can be kept."""
    try:
        folder.mkdir(exist_ok=True)
        problem = None if os.access(folder, os.W_OK) else "not writable"
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise RagbedError(f"{folder}: {problem}. Decisions are kept beside the data; copy it to where you may write.")

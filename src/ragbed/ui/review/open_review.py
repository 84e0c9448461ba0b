"""Open a review with its data, flags, log and lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec.structs import replace

from ragbed.errors import RagbedError, UsageError
from ragbed.io.locations import open_regular, report_errors
from ragbed.runs.lock import hold
from ragbed.ui.review.flags import find_flags
from ragbed.ui.review.log import Log
from ragbed.ui.review.queue import ReviewQueue, find_datasets
from ragbed.ui.review.records import ReviewSettings
from ragbed.ui.review.session import ReviewSession, now

NAME = "decisions.jsonl"


@contextmanager
def open_review(
    path: Path,
    raters: Literal[1, 2] | None,
    target: float | None,
    watch: Callable[[str, int], None] = lambda *_: None,
    *,
    writes: bool = True,
) -> Iterator[tuple[ReviewSession, Log]]:
    """Open the review of a build folder or a dataset; only one process at a time can write to it.

    The log changes only if an option sets a different number of raters or a different target.

    Args:
        path: A build folder or a dataset file.
        raters: Raters per item; by default, the stored number, or 1 if no number is stored.
        target: Share of wrong items to rule out; by default, the stored share, or 5% if none is stored.
        watch: Called with the name of a dataset and the number of items checked for flags.
        writes: Whether decisions can be added. If not, a copy of the log is read, so a review page can stay open.

    Raises:
        UsageError: There are decisions that were made with a different number of raters.
    """
    datasets, folder = find_datasets(path)
    _make_room(folder)
    with hold(folder) if writes else nullcontext(), TemporaryDirectory() as scratch:
        queue = ReviewQueue(datasets, find_flags(datasets, folder, watch))
        log = Log(folder / NAME if writes else _copy(folder / NAME, Path(scratch)))
        default = ReviewSettings(at=now(), data=queue.data)
        session = ReviewSession(queue, log, default)
        before = session.state.settings
        if raters not in (None, before.raters) and session.state.has_decisions():
            raise UsageError(
                f"raters={raters}: {log.path} contains decisions made with raters={before.raters}. Decisions made "
                f"with different numbers of raters cannot be combined. Continue with raters={before.raters}, or start "
                "again in a copy of the data without this log."
            )
        settings = replace(before, data=queue.data, raters=raters or before.raters, target=target or before.target)
        if before is default or settings != before:
            session.begin(replace(settings, at=now()))
        if (settings.raters, settings.target) != (before.raters, before.target):
            session.save_settings()
        yield session, log


def _copy(log: Path, folder: Path) -> Path:
    """Copy the log. A line that is being written at that moment may be incomplete, but only in the copy."""
    with report_errors(log, "read"), suppress(FileNotFoundError), open_regular(log) as source:
        (folder / NAME).write_bytes(source.read())
    return folder / NAME


def _make_room(folder: Path) -> None:
    """Create the review's folder and check that it is writable."""
    try:
        folder.mkdir(exist_ok=True)
        problem = None if os.access(folder, os.W_OK) else "not writable"
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise RagbedError(
            f"{folder}: {problem}. Decisions are stored next to the data. Copy the data to a writable folder."
        )

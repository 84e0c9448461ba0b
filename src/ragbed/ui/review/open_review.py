"""Open a review with its data, flags, log and lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from msgspec.structs import replace

from ragbed.errors import RagbedError
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
    target: float | None,
    watch: Callable[[str, int], None] = lambda *_: None,
    *,
    rater: str | None = None,
    user: str = "unknown",
    writes: bool = True,
) -> Iterator[tuple[ReviewSession, Log]]:
    """Open the review of a build folder or a dataset; only one process at a time can write to it.

    The log changes only if an option sets a different target or rater.

    Args:
        path: A build folder or a dataset file.
        target: Share of wrong items to rule out; by default, the stored share, or 5% if none is stored.
        watch: Called with the name of a dataset and the number of items checked for flags.
        rater: Name of the person who decides; by default, the stored name, or `user` if none is stored.
        user: Name to use if neither an option nor the log has one.
        writes: Whether decisions can be added. If not, no lock is needed, so a review page can stay open.

    Raises:
        UsageError: The log has another rater's decisions.
    """
    datasets, folder = find_datasets(path)
    _make_room(folder)
    with hold(folder) if writes else nullcontext():
        queue = ReviewQueue(datasets, find_flags(datasets, folder, watch))
        log = Log(folder / NAME)
        default = ReviewSettings(at=now(), data=queue.data, rater=user)
        session = ReviewSession(queue, log, default)
        before = session.state.settings
        settings = replace(before, data=queue.data, rater=rater or before.rater, target=target or before.target)
        if before is default or settings != before:
            session.begin(replace(settings, at=now()))
        if writes and settings.target != before.target:
            session.save_settings()
        yield session, log


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

"""Open and run a review: check decisions, store them, and update the state."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from ragbed.errors import DataError, RagbedError, UsageError, option
from ragbed.runs.lock import hold
from ragbed.ui.review.log import Decided, Line, Log, PointDecision, ReviewSettings, Undone, read_log
from ragbed.ui.review.points import check_decisions
from ragbed.ui.review.queue import ReviewQueue, find_datasets, find_flags
from ragbed.ui.review.state import DECIDED, ReviewComparison, ReviewState, compare_reviews

LONGEST_NAME = 40


class ReviewSession:
    """A review in progress.

    Args:
        queue: Items to review.
        log: The decision log.
        settings: Settings to use if the log has none.
    """

    def __init__(self, queue: ReviewQueue, log: Log, settings: ReviewSettings) -> None:
        self.queue, self._log = queue, log
        self._unsaved: list[Line] = []  # Settings that are not yet in the log.
        self.state = _make_state(queue, settings, log.path, log.read())
        self.order = [entry.key for entry in queue.order(self.state.settings.seed)]

    def begin(self, settings: ReviewSettings) -> None:
        """Change the settings, which are stored with the next decision or by `save_settings`.

        Raises:
            UsageError: The rater's name is not valid, or the log has another rater's decisions.
        """
        rater, before = settings.rater, self.state.settings.rater
        if not rater.strip() or len(rater) > LONGEST_NAME or not rater.isprintable() or rater != rater.strip():
            raise UsageError(
                f"{option('rater', repr(rater))} is not a valid name: use 1 to {LONGEST_NAME} visible characters."
            )
        if rater != before and self.state.has_decisions():
            raise UsageError(
                f"{option('rater', rater)}: {self._log.path} has the decisions of {before}, and a review has one "
                "rater. Let "
                f"{rater} review a copy of the data without this file, and compare the two with `ragbed review DIR "
                "--compare FILE`."
            )
        self._unsaved = [settings]
        self.state.add([settings])
        self.order = [entry.key for entry in self.queue.order(settings.seed)]

    def save_settings(self) -> None:
        """Store the settings in the log."""
        self._store([])

    def decide(self, key: str, decisions: Sequence[PointDecision]) -> None:
        """Store decisions on an item.

        Raises:
            UsageError: The decisions are not valid.
        """
        if not decisions:
            raise UsageError("the request must contain at least one decision.")
        check_decisions(self.queue.read(key), decisions)
        line = Decided(
            act=secrets.token_hex(8),
            at=now(),
            item=key,
            digest=self.queue.entries[key].digest,
            said=tuple(decisions),
        )
        self._store([line])

    def undo(self) -> str:
        """Withdraw the last decision, and return the affected item.

        Raises:
            UsageError: There is no decision.
        """
        last = self.state.last_act()
        if last is None:
            raise UsageError("there is no decision to undo.")
        self._store([Undone(at=now(), undoes=last.act)])
        return last.item

    def next_open(self, start: int = 0) -> str | None:
        """Return the next item to decide, searching the review order from `start` and wrapping around at the end."""
        rotated = self.order[start:] + self.order[:start]
        return next((key for key in rotated if self.state.of(key).state not in DECIDED), None)

    def compare(self, path: Path) -> ReviewComparison:
        """Compare this review with the decisions in another review's log.

        Raises:
            DataError: The file is not a review log, or is about other items.
        """
        lines = [line for _, line in read_log(path)]
        return compare_reviews(self.state, _make_state(self.queue, self.state.settings, path, lines))

    def _store(self, lines: Sequence[Line]) -> None:
        self._log.add([*self._unsaved, *lines])
        self._unsaved = []
        self.state.add(lines)


def now() -> str:
    """Return the current time in the format used by the log."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _make_state(queue: ReviewQueue, settings: ReviewSettings, path: Path, lines: Sequence[Line]) -> ReviewState:
    """Apply a log, and refuse it if all its decisions are about items that are not in this review."""
    state = ReviewState(queue, settings)
    state.add(lines)
    decided = sum(isinstance(line, Decided) for line in lines)
    if decided and len(state.stale) == decided:
        has_settings = any(isinstance(line, ReviewSettings) for line in lines)
        was = ", ".join(f"{name} {digest[:12]}" for name, digest in state.settings.data.items())
        here = ", ".join(f"{name} {digest[:12]}" for name, digest in queue.data.items())
        raise DataError(
            path,
            (
                "the file belongs to a review of a different dataset "
                f"({was if has_settings else 'unknown'} instead of {here}). To start a new "
                "review, move or rename the file; to continue the earlier review, open its dataset"
            ),
        )
    return state


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

"""Open and run a review: check decisions, store them, and count the results."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from ragbed.analysis.statistics.testing import trials_for_bound, upper_bound
from ragbed.builder.quality import ReviewSample
from ragbed.errors import DataError, RagbedError, UsageError, option
from ragbed.runs.lock import hold
from ragbed.ui.review.items import DECIDED, ReviewItem, State, check_decisions, find_datasets, read_items
from ragbed.ui.review.log import Decided, Line, Log, PointDecision, ReviewSettings, Undone

NAME = "decisions.jsonl"
LONGEST_NAME = 40


class ReviewSession:
    """A review in progress.

    Attributes:
        items: The items by key, in review order.
        stale: The decisions on items that are missing or have changed; they remain in the log but do not count.

    Args:
        items: The items by key, in review order.
        log: The decision log.
        rater: Name of the person who decides; by default, the stored name, or `user` if none is stored.
        target: Share of wrong items to rule out; by default, the stored share, or 5% if none is stored.
        user: Name to use if neither an option nor the log has one.

    Raises:
        UsageError: The rater's name is not valid, or the log has another rater's decisions.
        DataError: All decisions in the log are about other items.
    """

    def __init__(
        self, items: Mapping[str, ReviewItem], log: Log, *, rater: str | None, target: float | None, user: str = ""
    ) -> None:
        self.items, self.log = items, log
        self.stale: dict[str, Decided] = {}
        self._acts: dict[str, Decided] = {}  # Decisions that have not been withdrawn, by ID.
        self.settings = stored = ReviewSettings(at=_now(), rater=user)
        self._apply(log.lines)
        if self.stale and len(self.stale) == sum(isinstance(line, Decided) for line in log.lines):
            raise DataError(
                log.path,
                "the file belongs to a review of a different dataset. To start a new review, move or rename the file; "
                "to continue the earlier review, open its dataset",
            )
        before = self.settings
        self.settings = ReviewSettings(at=_now(), rater=rater or before.rater, target=target or before.target)
        is_new = before is stored or (before.rater, before.target) != (self.settings.rater, self.settings.target)
        self._unsaved: list[Line] = [self.settings] if is_new else []  # Stored with the next decision.
        name = self.settings.rater if rater is None else rater
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
            raise UsageError(
                f"{option('rater', repr(name))} is not a valid name: use 1 to {LONGEST_NAME} visible characters."
            )
        if name != before.rater and (self._acts or self.stale):
            raise UsageError(
                f"{option('rater', name)}: {log.path} has the decisions of {before.rater}, and a review has one rater. "
                f"Let {name} review a copy of the data without this file."
            )

    def _apply(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if isinstance(line, ReviewSettings):
                self.settings = line
            elif isinstance(line, Undone):
                if undone := self._acts.pop(line.undoes, None):
                    del self.items[undone.item].acts[undone.act]
            elif (item := self.items.get(line.item)) is None or item.digest != line.digest:
                self.stale[line.act] = line
            else:
                self._acts[line.act] = item.acts[line.act] = line

    def item(self, key: str) -> ReviewItem:
        """Return the item with the given key."""
        if key not in self.items:
            raise UsageError(f"item {key!r} does not exist.")
        return self.items[key]

    def decide(self, key: str, decisions: Sequence[PointDecision]) -> None:
        """Store decisions on an item.

        Raises:
            UsageError: The decisions are not valid.
        """
        if not decisions:
            raise UsageError("the request must contain at least one decision.")
        item = self.item(key)
        check_decisions(item.item, decisions)
        self._store(Decided(act=secrets.token_hex(8), at=_now(), item=key, digest=item.digest, said=tuple(decisions)))

    def undo(self) -> str:
        """Withdraw the last decision, and return the affected item.

        Raises:
            UsageError: There is no decision.
        """
        if not self._acts:
            raise UsageError("there is no decision to undo.")
        last = next(reversed(self._acts.values()))
        self._store(Undone(at=_now(), undoes=last.act))
        return last.item

    def next_open(self, start: int = 0) -> str | None:
        """Return the next item to decide, searching the review order from `start` and wrapping around at the end."""
        order = list(self.items)
        return next((key for key in order[start:] + order[:start] if self.items[key].state not in DECIDED), None)

    def _store(self, line: Line) -> None:
        self.log.add([*self._unsaved, line])
        self._unsaved = []
        self._apply([line])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class ReviewCounts(ReviewSample, frozen=True, kw_only=True):
    """The review counts for one dataset.

    `drawn` is the number of unflagged items. In their random order, the first `sampled` items have all been decided,
    and `wrong` of these had to be fixed or rejected. `bound` is the one-sided 95% upper bound on the share of wrong
    items among all unflagged items. `more` is the number of further error-free items that would lower the bound to the
    target.
    """

    data: str
    sha256: str = ""
    states: dict[State, int]
    bound: float | None
    more: int


def tally(session: ReviewSession) -> list[ReviewCounts]:
    """Return the review counts for every dataset."""
    return [_tally(session, name) for name in sorted({item.data for item in session.items.values()})]


def _tally(session: ReviewSession, name: str) -> ReviewCounts:
    items = [item for item in session.items.values() if item.data == name]
    drawn = [item.state for item in items if not item.flags]
    flagged = [item.state for item in items if item.flags]
    # The sample ends at the first item without a decision. Otherwise, raters could make the data look better by
    # skipping difficult items.
    sampled = next((place for place, state in enumerate(drawn) if state not in DECIDED), len(drawn))
    wrong = sum(state != "accepted" for state in drawn[:sampled])
    bound = None if not sampled else wrong / sampled if sampled == len(drawn) else upper_bound(wrong, sampled)
    return ReviewCounts(
        data=name,
        items=len(items),
        states=dict(Counter([*drawn, *flagged])),
        flagged=len(flagged),
        flagged_done=sum(state in DECIDED for state in flagged),
        drawn=len(drawn),
        sampled=sampled,
        wrong=wrong,
        bound=bound,
        more=max(0, min(trials_for_bound(wrong, session.settings.target), len(drawn)) - sampled),
    )


@contextmanager
def open_review(
    path: Path,
    watch: Callable[[str, int], None] = lambda *_: None,
    *,
    rater: str | None = None,
    target: float | None = None,
    user: str = "unknown",
    writes: bool = True,
) -> Iterator[ReviewSession]:
    """Open the review of a build folder or a dataset; only one process at a time can write to it.

    Args:
        path: A build folder or a dataset file.
        watch: Called with the name of a dataset and the number of items checked for flags.
        rater: As for `ReviewSession`.
        target: As for `ReviewSession`.
        user: As for `ReviewSession`.
        writes: Whether decisions can be added. If not, no lock is needed, so a review page can stay open.
    """
    datasets, folder = find_datasets(path)
    try:
        folder.mkdir(exist_ok=True)
        problem = None if os.access(folder, os.W_OK) else "not writable"
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise RagbedError(
            f"{folder}: {problem}. Decisions are stored next to the data. Copy the data to a writable folder."
        )
    with hold(folder) if writes else nullcontext():
        yield ReviewSession(read_items(datasets, watch), Log(folder / NAME), rater=rater, target=target, user=user)

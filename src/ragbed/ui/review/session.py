"""Open and run a review: check decisions, store them, and count the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from ragbed.analysis.statistics.testing import trials_for_bound, upper_bound
from ragbed.builder.quality import ReviewSample
from ragbed.errors import UsageError, option
from ragbed.runs.lock import hold
from ragbed.ui.review.items import DECIDED, ReviewItem, State, check_decisions, find_datasets, read_items
from ragbed.ui.review.log import Decided, Log, PointDecision

NAME = "decisions.jsonl"
_TARGET = 0.05  # default share of wrong items to rule out


class ReviewSession:
    """A review in progress.

    Attributes:
        items: The items by key, in review order.
        stale: The decisions on items that are missing or have changed; they remain in the log but do not count.

    Args:
        items: The items by key, in review order.
        log: The decision log.
        rater: Name of the person who decides; by default, the name in the log, or `user` if the log is empty.
        target: Share of wrong items to rule out; by default 5%.
        user: The default name.

    Raises:
        UsageError: The log has another rater's decisions.
    """

    def __init__(
        self, items: Mapping[str, ReviewItem], log: Log, *, rater: str | None, target: float | None, user: str = ""
    ) -> None:
        self.items, self.log = items, log
        raters = {line.rater for line in log.lines}
        self.rater, self.target = rater or min(raters, default=user), target or _TARGET
        if others := raters - {self.rater}:
            raise UsageError(
                f"{option('rater', self.rater)}: {log.path} has the decisions of {', '.join(sorted(others))}, and a "
                f"review has one rater. Let {self.rater} review a copy of the data without this file."
            )
        self.stale: list[Decided] = []
        for line in log.lines:
            item = items.get(line.item)
            is_stale = item is None or item.digest != line.digest
            (self.stale if item is None or is_stale else item.decisions).append(line)

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
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = Decided(at=now, rater=self.rater, item=key, digest=item.digest, said=tuple(decisions))
        self.log.replace([*self.log.lines, line])
        item.decisions.append(line)

    def undo(self) -> str:
        """Withdraw the last decision, and return the affected item.

        Raises:
            UsageError: There is no decision.
        """
        last = next((line for line in reversed(self.log.lines) if line not in self.stale), None)
        if last is None:
            raise UsageError("there is no decision to undo.")
        self.log.replace([line for line in self.log.lines if line is not last])
        self.items[last.item].decisions.remove(last)
        return last.item

    def next_open(self, start: int = 0) -> str | None:
        """Return the next item to decide, searching the review order from `start` and wrapping around at the end."""
        order = list(self.items)
        return next((key for key in order[start:] + order[:start] if self.items[key].state not in DECIDED), None)


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
        more=max(0, min(trials_for_bound(wrong, session.target), len(drawn)) - sampled),
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
    """Open the review of a build folder or a dataset, with the arguments of `read_items` and `ReviewSession`.

    Only one process at a time can write to it. If `writes` is not set, no lock is needed, so a page can stay open.
    """
    datasets, folder = find_datasets(path)
    with hold(folder) if writes else nullcontext():
        yield ReviewSession(read_items(datasets, watch), Log(folder / NAME), rater=rater, target=target, user=user)

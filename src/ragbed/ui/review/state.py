"""The state of a review, derived from the log: the result for every item, counts, and agreement with another review."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.analysis.statistics.labels import agreement
from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.statistics.testing import trials_for_bound, upper_bound
from ragbed.ui.review.log import Decided, Line, PointDecision, ReviewSettings, Undone
from ragbed.ui.review.points import is_fatal
from ragbed.ui.review.queue import ReviewQueue

State: TypeAlias = Literal["open", "begun", "accepted", "fixed", "rejected"]
DECIDED: frozenset[State] = frozenset({"accepted", "fixed", "rejected"})
WRONG: frozenset[State] = frozenset({"fixed", "rejected"})
Sheet: TypeAlias = Mapping[str, PointDecision]  # The decision in effect on each point.


@dataclass(frozen=True)
class ItemState:
    """The decisions in effect on an item, one for each point, and the state of the item that follows from them."""

    sheet: Sheet
    state: State


class ReviewState:
    """The state of a review after the lines of a log have been applied.

    `stale` has the decisions on items that are missing or have changed; they remain in the log but do not count.

    Args:
        queue: Items to review.
        settings: Settings to use until the log changes them.
    """

    def __init__(self, queue: ReviewQueue, settings: ReviewSettings) -> None:
        self.queue, self.settings = queue, settings
        self.stale: dict[str, Decided] = {}
        self._acts: dict[str, Decided] = {}  # Decisions that have not been withdrawn, by ID.
        self._by_item: dict[str, dict[str, Decided]] = {}  # The same for each item.
        self._items: dict[str, ItemState] = {}  # Cached until the log has a new line about the item.

    def add(self, lines: Iterable[Line]) -> None:
        """Apply log lines."""
        for line in lines:
            if isinstance(line, ReviewSettings):
                self.settings = line
            elif isinstance(line, Undone):
                if undone := self._acts.pop(line.undoes, None):
                    del self._by_item[undone.item][undone.act]
                    self._items.pop(undone.item, None)
            elif (entry := self.queue.entries.get(line.item)) is None or entry.digest != line.digest:
                self.stale[line.act] = line
            else:
                self._acts[line.act] = self._by_item.setdefault(line.item, {})[line.act] = line
                self._items.pop(line.item, None)

    def has_decisions(self) -> bool:
        """Return whether the log contains a decision that has not been withdrawn."""
        return bool(self._acts or self.stale)

    def last_act(self) -> Decided | None:
        """Return the last decision that has not been withdrawn."""
        return next(reversed(self._acts.values()), None)

    def of(self, key: str) -> ItemState:
        """Return an item's state."""
        if key not in self._items:
            sheet = {one.point: one for act in self._by_item.get(key, {}).values() for one in act.said}
            self._items[key] = ItemState(sheet, _judge(self.queue.entries[key].points, sheet))
        return self._items[key]


def _judge(points: Sequence[str], sheet: Sheet) -> State:
    """Return the state of an item: it is decided if every point is, or if a decision removes the item."""
    if any(one.verdict == "reject" and is_fatal(point) for point, one in sheet.items()):
        return "rejected"
    if any(point not in sheet for point in points):
        return "begun" if sheet else "open"
    return "accepted" if all(one.verdict == "accept" for one in sheet.values()) else "fixed"


class ReviewCounts(Struct, frozen=True, kw_only=True):
    """The review counts for one dataset.

    `drawn` is the number of unflagged items. In their random order, the first `sampled` items have all been decided,
    and `wrong` of these had to be fixed or rejected. `bound` is the one-sided 95% upper bound on the share of wrong
    items among all unflagged items. `more` is the number of further error-free items that would lower the bound to the
    target.
    """

    data: str
    items: int
    states: dict[State, int]
    flagged: int
    flagged_done: int
    drawn: int
    sampled: int
    wrong: int
    bound: float | None
    more: int


class PointAgreement(Struct, frozen=True, kw_only=True):
    """How far two raters agree on accepting items, or one type of review point, unchanged, with confidence intervals.

    Cohen's kappa is undefined if both raters give the same verdict everywhere; Gwet's AC1 is stable even if nearly
    everything is accepted.
    """

    kind: str
    n: int
    agreed: Interval
    kappa: Interval
    ac1: Interval


class ReviewDifference(Struct, frozen=True):
    """A review point on which two raters decided differently; reasons may differ."""

    item: str
    point: str
    ours: PointDecision
    theirs: PointDecision


class ReviewComparison(Struct, frozen=True, kw_only=True):
    """The agreement of two reviews on the items that both have decided, and the points on which they differ."""

    raters: tuple[str, str]
    agreement: list[PointAgreement]
    differences: list[ReviewDifference]


def tally(review: ReviewState) -> list[ReviewCounts]:
    """Return the review counts for every dataset."""
    return [_tally(review, name) for name in review.queue.data]


def _tally(review: ReviewState, name: str) -> ReviewCounts:
    entries = [entry for entry in review.queue.entries.values() if entry.data == name]
    states = {entry.key: review.of(entry.key).state for entry in entries}
    drawn = [states[entry.key] for entry in review.queue.draw(name, review.settings.seed)]
    flagged = [states[entry.key] for entry in entries if entry.flags]
    # The sample ends at the first item without a decision. Otherwise, raters could make the data look better by
    # skipping difficult items.
    sampled = next((place for place, state in enumerate(drawn) if state not in DECIDED), len(drawn))
    wrong = sum(state in WRONG for state in drawn[:sampled])
    bound = None if not sampled else wrong / sampled if sampled == len(drawn) else upper_bound(wrong, sampled)
    return ReviewCounts(
        data=name,
        items=len(entries),
        states=dict(Counter(states.values())),
        flagged=len(flagged),
        flagged_done=sum(state in DECIDED for state in flagged),
        drawn=len(drawn),
        sampled=sampled,
        wrong=wrong,
        bound=bound,
        more=max(0, min(trials_for_bound(wrong, review.settings.target), len(drawn)) - sampled),
    )


def compare_reviews(ours: ReviewState, theirs: ReviewState) -> ReviewComparison:
    """Compare two reviews of the same data."""
    pairs: dict[str, list[tuple[int, bool, bool]]] = {"item": []}
    differences = []
    for number, key in enumerate(ours.queue.entries):
        one, other = ours.of(key), theirs.of(key)
        if one.state not in DECIDED or other.state not in DECIDED:
            continue
        pairs["item"].append((number, one.state == "accepted", other.state == "accepted"))
        for point, first in one.sheet.items():
            if second := other.sheet.get(point):
                kind = re.sub(r"passages\[\d+\]\.|\[\d+\]", "", point)
                pairs.setdefault(kind, []).append((number, first.verdict == "accept", second.verdict == "accept"))
                if (first.verdict, first.fix, first.part) != (second.verdict, second.fix, second.part):
                    differences.append(ReviewDifference(key, point, first, second))
    rows = []
    for kind, found in pairs.items():
        if found:
            items, first_keeps, second_keeps = zip(*found, strict=True)
            n, agreed, kappa, ac1, *_ = agreement(first_keeps, second_keeps, items)
            rows.append(PointAgreement(kind=kind, n=n, agreed=agreed, kappa=kappa, ac1=ac1))
    raters = (ours.settings.rater, theirs.settings.rater)
    return ReviewComparison(raters=raters, agreement=rows, differences=differences)

"""The state of a review: the result for every item, derived from the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbed.ui.review.points import is_fatal
from ragbed.ui.review.queue import ReviewQueue
from ragbed.ui.review.records import Decided, Line, PointDecision, ReviewSettings, Undone

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

"""The state of a review: the result for every item, derived from the log."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias

from ragbed.ui.review.points import FATAL, kind_of_point
from ragbed.ui.review.queue import ReviewQueue
from ragbed.ui.review.records import Decided, Line, PointDecision, ReviewSettings, Undone

State: TypeAlias = Literal["open", "begun", "waiting", "disagreed", "accepted", "fixed", "rejected"]
DECIDED: frozenset[State] = frozenset({"accepted", "fixed", "rejected"})
WRONG: frozenset[State] = frozenset({"fixed", "rejected"})
Sheet: TypeAlias = dict[str, PointDecision]  # Decisions by point.

_time_of = attrgetter("at")


@dataclass(frozen=True)
class ItemState:
    """The state of one item according to the log.

    `sheets` has each rater's decisions, and `whole` has those of raters who have decided everything. `finals` has the
    settling decision for each point, with its author. `differing` has the points with a disagreement between two raters
    that is not settled yet. `settled` has the decisions in effect: a single rater's last decisions, or those on which
    two raters agree and those that settle a disagreement. If `both_done`, each rater can see the other's decisions.
    """

    sheets: dict[str, Sheet]
    whole: dict[str, Sheet]
    finals: dict[str, tuple[str, PointDecision]]
    differing: list[str]
    settled: Sheet
    state: State
    both_done: bool


class ReviewState:
    """The state of a review after the lines of a log have been applied.

    `stale` has the decisions on items that are missing or have changed; they remain in the log but do not count.
    `latest` is the time of the last decision.

    Args:
        queue: Items to review.
        settings: Settings to use until the log changes them.
    """

    def __init__(self, queue: ReviewQueue, settings: ReviewSettings) -> None:
        self.queue, self.settings = queue, settings
        self.stale: dict[str, Decided] = {}
        self.latest = ""
        self._acts: dict[str, Decided] = {}
        self._by_item: dict[str, list[Decided]] = {}
        self._undone: set[str] = set()
        self._items: dict[str, ItemState] = {}  # Cached until the log has a new line about the item.
        self._raters: list[str] | None = None

    def add(self, lines: Iterable[Line]) -> None:
        """Apply log lines. The latest decision counts, even if an earlier one is imported later."""
        self._raters = None
        for line in lines:
            if isinstance(line, ReviewSettings):
                self.settings = line
                self._items.clear()
            elif isinstance(line, Undone):
                self._undone.add(line.undoes)
                if line.undoes in self._acts:
                    self._items.pop(self._acts[line.undoes].item, None)
            else:
                self._acts[line.act] = line
                self.latest = max(self.latest, line.at)
                self._items.pop(line.item, None)
                entry = self.queue.entries.get(line.item)
                if entry is None or entry.digest != line.digest:
                    self.stale[line.act] = line
                else:
                    self._by_item.setdefault(line.item, []).append(line)

    def has(self, act: str) -> bool:
        """Return whether a decision is in the log."""
        return act in self._acts

    def has_decisions(self) -> bool:
        """Return whether the log contains a decision that has not been withdrawn."""
        return any(act not in self._undone for act in self._acts)

    def is_undone(self, act: str) -> bool:
        """Return whether a decision has been withdrawn."""
        return act in self._undone

    @property
    def raters(self) -> list[str]:
        """Return the raters in order of their first decisions."""
        if self._raters is None:
            acts = sorted((act for act in self._acts.values() if not act.final and self._counts(act)), key=_time_of)
            self._raters = list(dict.fromkeys(act.rater for act in acts))
        return self._raters

    def is_third(self, name: str) -> bool:
        """Return whether there are already two other raters, in which case this rater can only settle disagreements."""
        return self.settings.raters == 2 and len(self.raters) >= 2 and name not in self.raters

    def last_act(self, rater: str) -> Decided | None:
        """Return a rater's last decision that has not been withdrawn."""
        acts = (act for act in reversed(self._acts.values()) if act.rater == rater and self._counts(act))
        return max(acts, key=_time_of, default=None)

    def of(self, key: str) -> ItemState:
        """Return an item's state."""
        if key not in self._items:
            self._items[key] = self._make(key)
        return self._items[key]

    def _make(self, key: str) -> ItemState:
        points = self.queue.entries[key].points
        acts = sorted((act for act in self._by_item.get(key, ()) if act.act not in self._undone), key=_time_of)
        finals = {one.point: (act.rater, one) for act in acts if act.final for one in act.said}
        sheets: dict[str, Sheet] = {}
        last: Sheet = {}
        for act in acts:
            if not act.final:
                decisions = {one.point: one for one in act.said}
                sheets.setdefault(act.rater, {}).update(decisions)
                last |= decisions
        whole = {rater: sheet for rater, sheet in sheets.items() if is_whole(points, sheet)}
        if self.settings.raters == 1:
            state = "open" if not sheets else judge(last) if is_whole(points, last) else "begun"
            return ItemState(sheets, whole, finals, [], last, state, both_done=False)
        differing = _differing(list(whole.values())[:2], finals)
        settled = {point: one for sheet in whole.values() for point, one in sheet.items()}
        settled |= {point: one for point, (_, one) in finals.items()}
        state = "waiting" if whole else "begun" if sheets else "open"
        if len(whole) >= 2:
            state = "disagreed" if differing else judge(settled)
        return ItemState(sheets, whole, finals, differing, settled, state, both_done=len(whole) >= 2)

    def _counts(self, act: Decided) -> bool:
        return act.act not in self._undone and act.act not in self.stale


def _differing(whole: Sequence[Sheet], settled: Container[str]) -> list[str]:
    if len(whole) < 2 or all(map(is_rejected, whole)):
        return []
    first, second = whole
    return [point for point in first if point not in settled and _differ(first[point], second.get(point))]


def is_whole(points: Sequence[str], sheet: Mapping[str, PointDecision]) -> bool:
    """Return whether the review of an item is complete: every point is decided, or the item is removed."""
    return is_rejected(sheet) or all(point in sheet for point in points)


def is_rejected(sheet: Mapping[str, PointDecision]) -> bool:
    """Return whether the decisions remove the item."""
    return any(one.verdict == "reject" and kind_of_point(point) in FATAL for point, one in sheet.items())


def judge(sheet: Mapping[str, PointDecision]) -> State:
    """Return the state of an item whose points are all decided."""
    if is_rejected(sheet):
        return "rejected"
    return "accepted" if all(one.verdict == "accept" for one in sheet.values()) else "fixed"


def _differ(one: PointDecision, other: PointDecision | None) -> bool:
    """Return whether two raters' decisions differ, ignoring reasons and points that only one of them decided."""
    return other is not None and (one.verdict, one.fix, one.part) != (other.verdict, other.fix, other.part)

"""How a review stands: what follows from its log for every item, and who may see it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbed.ui.review.points import FATAL, kind_of_point
from ragbed.ui.review.queue import ReviewQueue
from ragbed.ui.review.records import Begun, Decided, Line, PointDecision, Undone

State: TypeAlias = Literal["open", "begun", "waiting", "disagreed", "accepted", "fixed", "rejected"]
DECIDED: frozenset[State] = frozenset({"accepted", "fixed", "rejected"})
WRONG: frozenset[State] = frozenset({"fixed", "rejected"})
Sheet: TypeAlias = dict[str, PointDecision]
"""What was said, by point."""


@dataclass(frozen=True)
class ItemState:
    """What follows from the log for one item."""

    sheets: dict[str, Sheet]
    """What each rater says of it."""
    whole: dict[str, Sheet]
    """What those say who have decided all there is to decide."""
    finals: dict[str, tuple[str, PointDecision]]
    """What settles disagreements, by point, and who said it; the last word counts."""
    differing: list[str]
    """Points on which two raters who are both done differ, and which nobody has settled."""
    settled: Sheet
    """What counts: of one rater the last word; of two what both say, and else what settles it."""
    state: State
    both_done: bool
    """With two raters: whether both have decided it, so that each may see what the other said."""


class ReviewState:
    """Adds the lines of a log up.

    Args:
        docket: What is reviewed.
        begun: How.
    """

    def __init__(self, docket: ReviewQueue, begun: Begun) -> None:
        self.docket, self.begun = docket, begun
        self.stale: dict[str, Decided] = {}
        """Of items that are not here, or are not what they were: they stay in the log and do not count."""
        self.latest = ""
        """When something was decided last."""
        self._acts: dict[str, Decided] = {}
        self._by_item: dict[str, list[Decided]] = {}
        self._undone: set[str] = set()
        self._items: dict[str, ItemState] = {}  # made when asked for, until something is added about the item
        self._raters: list[str] | None = None

    def add(self, lines: Iterable[Line]) -> None:
        """Takes lines in; what was said last counts, and that is not what came in last if it was said elsewhere."""
        self._raters = None
        for line in lines:
            if isinstance(line, Begun):
                self.begun = line
                self._items.clear()
            elif isinstance(line, Undone):
                self._undone.add(line.undoes)
                if line.undoes in self._acts:
                    self._items.pop(self._acts[line.undoes].item, None)
            else:
                self._acts[line.act] = line
                self.latest = max(self.latest, line.at)
                self._items.pop(line.item, None)
                entry = self.docket.entries.get(line.item)
                if entry is None or entry.digest != line.digest:
                    self.stale[line.act] = line
                else:
                    self._by_item.setdefault(line.item, []).append(line)

    def has(self, act: str) -> bool:
        """Whether an act is in the log."""
        return act in self._acts

    def has_decisions(self) -> bool:
        """Whether somebody has decided something and has not taken it back."""
        return any(act not in self._undone for act in self._acts)

    def is_undone(self, act: str) -> bool:
        """Whether an act was taken back."""
        return act in self._undone

    @property
    def raters(self) -> list[str]:
        """Who has decided something, in the order in which they began."""
        if self._raters is None:
            acts = sorted((act for act in self._acts.values() if not act.final and self._counts(act)), key=_time_of)
            self._raters = list(dict.fromkeys(act.rater for act in acts))
        return self._raters

    def is_third(self, name: str) -> bool:
        """Whether two others rate, so that this one can only settle what they differ on."""
        return self.begun.raters == 2 and len(self.raters) >= 2 and name not in self.raters

    def last_act(self, rater: str) -> Decided | None:
        """What a rater did last and did not take back."""
        acts = (act for act in reversed(self._acts.values()) if act.rater == rater and self._counts(act))
        return max(acts, key=_time_of, default=None)

    def of(self, key: str) -> ItemState:
        """How one item stands."""
        if key not in self._items:
            self._items[key] = self._make(key)
        return self._items[key]

    def _make(self, key: str) -> ItemState:
        points = self.docket.entries[key].points
        acts = sorted((act for act in self._by_item.get(key, ()) if act.act not in self._undone), key=_time_of)
        finals = {one.point: (act.rater, one) for act in acts if act.final for one in act.said}
        sheets: dict[str, Sheet] = {}
        last: Sheet = {}
        for act in acts:
            if not act.final:
                said = {one.point: one for one in act.said}
                sheets.setdefault(act.rater, {}).update(said)
                last |= said
        whole = {rater: sheet for rater, sheet in sheets.items() if is_whole(points, sheet)}
        if self.begun.raters == 1:
            state = "open" if not sheets else judge(last) if is_whole(points, last) else "begun"
            return ItemState(sheets, whole, finals, [], last, state, both_done=False)
        differing = _differing(list(whole.values())[:2], finals)
        settled = _merge(whole.values()) | {point: said for point, (_, said) in finals.items()}
        state = _state_of_two(sheets, whole, differing, settled)
        return ItemState(sheets, whole, finals, differing, settled, state, both_done=len(whole) >= 2)

    def _counts(self, act: Decided) -> bool:
        return act.act not in self._undone and act.act not in self.stale


def _time_of(act: Decided) -> str:
    return act.at


def _state_of_two(
    sheets: Mapping[str, Sheet], whole: Mapping[str, Sheet], differing: Sequence[str], settled: Sheet
) -> State:
    if len(whole) < 2:
        return "waiting" if whole else "begun" if sheets else "open"
    return "disagreed" if differing else judge(settled)


def _merge(sheets: Iterable[Sheet]) -> Sheet:
    merged: Sheet = {}
    for sheet in sheets:
        merged |= sheet
    return merged


def _differing(whole: Sequence[Sheet], settled: Container[str]) -> list[str]:
    if len(whole) < 2 or all(map(is_rejected, whole)):
        return []
    first, second = whole
    return [point for point in first if point not in settled and _differ(first[point], second.get(point))]


def is_whole(points: Sequence[str], sheet: Mapping[str, PointDecision]) -> bool:
    """Whether everything is decided: every point, or that the item must go."""
    return is_rejected(sheet) or all(point in sheet for point in points)


def is_rejected(sheet: Mapping[str, PointDecision]) -> bool:
    """Whether an item must go."""
    return any(said.verdict == "reject" and kind_of_point(point) in FATAL for point, said in sheet.items())


def judge(sheet: Mapping[str, PointDecision]) -> State:
    """What becomes of an item about which everything is decided."""
    if is_rejected(sheet):
        return "rejected"
    return "accepted" if all(said.verdict == "accept" for said in sheet.values()) else "fixed"


def _differ(one: PointDecision, other: PointDecision | None) -> bool:
    """Reasons may differ; a point that the other did not come to is no disagreement."""
    return other is not None and (one.verdict, one.fix, one.part) != (other.verdict, other.fix, other.part)

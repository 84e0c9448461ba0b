"""How a review stands: what follows from its log for every item, and who may see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from ragbed.review.docket import Docket
from ragbed.review.points import FATAL, kind_of_point
from ragbed.review.record import Begun, Decided, Line, Said, Undone

State: TypeAlias = Literal["open", "begun", "waiting", "disagreed", "accepted", "fixed", "rejected"]
DECIDED: frozenset[State] = frozenset({"accepted", "fixed", "rejected"})
WRONG: frozenset[State] = frozenset({"fixed", "rejected"})
Sheet: TypeAlias = dict[str, Said]
"""What was said, by point."""


class Standing:
    """Adds the lines of a log up.

    Args:
        docket: What is reviewed.
        begun: How.
    """

    def __init__(self, docket: Docket, begun: Begun) -> None:
        self.docket, self.begun = docket, begun
        self.stale: dict[str, Decided] = {}
        """Of items that are not here, or are not what they were: they stay in the log and do not count."""
        self._acts: dict[str, Decided] = {}
        self._by_item: dict[str, list[Decided]] = {}
        self._undone: set[str] = set()

    def add(self, lines: Iterable[Line]) -> None:
        """Takes lines in, in the order of the log."""
        for line in lines:
            if isinstance(line, Begun):
                self.begun = line
            elif isinstance(line, Undone):
                self._undone.add(line.undoes)
            else:
                self._acts[line.act] = line
                entry = self.docket.entries.get(line.item)
                if entry is None or entry.digest != line.digest:
                    self.stale[line.act] = line
                    continue
                self._by_item.setdefault(line.item, []).append(line)

    def has(self, act: str) -> bool:
        """Whether an act is in the log."""
        return act in self._acts

    def is_undone(self, act: str) -> bool:
        """Whether an act was taken back."""
        return act in self._undone

    @property
    def raters(self) -> list[str]:
        """Who has decided something, in the order in which they began."""
        acts = (act for act in self._acts.values() if not act.final and self._counts(act))
        return list(dict.fromkeys(act.rater for act in acts))

    def is_third(self, name: str) -> bool:
        """Whether two others rate, so that this one can only settle what they differ on."""
        raters = self.raters
        return self.begun.raters == 2 and len(raters) >= 2 and name not in raters

    def last_act(self, rater: str) -> Decided | None:
        """What a rater did last and did not take back."""
        return next((act for act in reversed(self._acts.values()) if act.rater == rater and self._counts(act)), None)

    def sheets(self, key: str) -> dict[str, Sheet]:
        """What each rater says of an item."""
        sheets: dict[str, Sheet] = {}
        for act in self._standing_acts(key, final=False):
            sheets.setdefault(act.rater, {}).update({one.point: one for one in act.said})
        return sheets

    def finals(self, key: str) -> dict[str, tuple[str, Said]]:
        """What settles the disagreements on an item, by point, and who said it; the last word counts."""
        return {one.point: (act.rater, one) for act in self._standing_acts(key, final=True) for one in act.said}

    def whole_sheets(self, key: str) -> dict[str, Sheet]:
        """What those say who have decided all there is to decide."""
        points = self.docket.entries[key].points
        return {rater: sheet for rater, sheet in self.sheets(key).items() if is_whole(points, sheet)}

    def are_both_done(self, key: str) -> bool:
        """With two raters: whether both have decided an item, so that each may see what the other said."""
        return self.begun.raters == 2 and len(self.whole_sheets(key)) >= 2

    def state(self, key: str) -> State:
        """Where an item stands."""
        sheets = self.sheets(key)
        if not sheets:
            return "open"
        if self.begun.raters == 1:
            sheet = self.settled(key)
            return judge(sheet) if is_whole(self.docket.entries[key].points, sheet) else "begun"
        whole = self.whole_sheets(key)
        if len(whole) < 2:
            return "waiting" if whole else "begun"
        return "disagreed" if self.disagreements(key) else judge(self.settled(key))

    def settled(self, key: str) -> Sheet:
        """What counts: of one rater the last word; of two what both say, and else what settles it."""
        if self.begun.raters == 1:
            return {one.point: one for act in self._standing_acts(key, final=False) for one in act.said}
        merged: Sheet = {}
        for sheet in self.whole_sheets(key).values():
            merged |= sheet
        return merged | {point: said for point, (_, said) in self.finals(key).items()}

    def disagreements(self, key: str) -> list[str]:
        """Points on which two raters who are both done differ, and which nobody has settled."""
        whole = list(self.whole_sheets(key).values())
        if self.begun.raters == 1 or len(whole) < 2:
            return []
        first, second = whole[:2]
        if is_rejected(first) and is_rejected(second):
            return []
        settled = self.finals(key)
        return [point for point in first if point not in settled and _differ(first[point], second.get(point))]

    def _counts(self, act: Decided) -> bool:
        return act.act not in self._undone and act.act not in self.stale

    def _standing_acts(self, key: str, *, final: bool) -> list[Decided]:
        """What was done about an item and not taken back, in order."""
        return [act for act in self._by_item.get(key, ()) if act.final == final and act.act not in self._undone]


def is_whole(points: Sequence[str], sheet: Mapping[str, Said]) -> bool:
    """Whether everything is decided: every point, or that the item must go."""
    return is_rejected(sheet) or all(point in sheet for point in points)


def is_rejected(sheet: Mapping[str, Said]) -> bool:
    """Whether an item must go."""
    return any(said.verdict == "reject" and kind_of_point(point) in FATAL for point, said in sheet.items())


def judge(sheet: Mapping[str, Said]) -> State:
    """What becomes of an item about which everything is decided."""
    if is_rejected(sheet):
        return "rejected"
    return "accepted" if all(said.verdict == "accept" for said in sheet.values()) else "fixed"


def _differ(one: Said, other: Said | None) -> bool:
    """Reasons may differ; a point that the other did not come to is no disagreement."""
    return other is not None and (one.verdict, one.fix, one.part) != (other.verdict, other.fix, other.part)

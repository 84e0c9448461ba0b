"""What a run will be able to tell, seen from its plan: the cells of one question that is asked under every condition.

The metrics themselves say which numbers a plan leads to, so that there is no second list of them. One question stands
for all, as if each were asked under every condition: a number may be foreseen that no question is there for in the end,
but none is missed.
"""

from __future__ import annotations

from msgspec import structs

from ragbed.metrics import measure
from ragbed.metrics.cells import Cell
from ragbed.metrics.trial import Scored, ScoreValue, to_scored
from ragbed.prompts.remedies import MARK
from ragbed.schema import Case

_SCORES: dict[str, ScoreValue] = dict.fromkeys(
    ("correct", "partial", "aligned", "refused", "flagged", "misled", "paper.refused"), 1.0
)
"""All at once, which no reply has: so there is something to count for metrics that look at some replies only."""
_REPEATS = 2
"""More tell nothing that two do not: the first chooses questions, the second is scored."""


class Foreseen:
    """Looks at cases as they are planned; what is held grows with the conditions, not with the questions."""

    def __init__(self, repeats: int) -> None:
        self._repeats = range(min(repeats, _REPEATS))
        self._first: dict[tuple[object, ...], str] = {}
        """Of every condition the question that came first: all orders of its documents are kept, and no other's."""
        self._trials: list[Scored] = []

    def add(self, case: Case) -> None:
        """Takes notice of a case, if it is one that will be asked by the plain prompt."""
        if not case.feasible or MARK in case.profile:
            return
        condition = (case.data, case.lang, case.testbed, case.noise, case.noise_real, case.correct, case.k, case.arm)
        if self._first.setdefault(condition, case.item) == case.item:
            one = to_scored(case, "", 0, "ok", _SCORES)
            self._trials += [structs.replace(one, item="", cluster=None, repeat=repeat) for repeat in self._repeats]

    def cells(self) -> list[Cell]:
        """The numbers of the robust track; only where they stand means something."""
        return list(measure(self._trials, ["robust"]))

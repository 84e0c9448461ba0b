"""Cells: what trials are counted and filtered by. A million trials have a few thousand of them.

A filter chooses cells, which are held in memory; the trials of a cell lie together in the index. So any filter, any
page and all counts cost the same however many trials there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from msgspec import structs

from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.store import StoredResult
from ragbed.runs.trials import kind_of_error
from ragbed.scoring import score
from ragbed.scoring.disagreements import SCORES
from ragbed.testbeds import TESTBEDS

COUNTED = (
    *("correct", "refused", "flagged", "misled"),
    *("code.correct", "code.refused", "code.flagged"),
    *("paper.correct", "paper.refused", "paper.flagged"),
)
"""Scores that every reply has; a cell keeps them as bits."""
MOST_VALUES = 200
"""Of one facet that are offered: the most frequent ones; others can still be filtered by in the address."""
_MASK = {name: 1 << place for place, name in enumerate(COUNTED)}
_ORDER = {name: place for place, name in enumerate(TESTBEDS)}
_LAST = 99
"""The place of what has none."""


class TrialCell(Condition, frozen=True, array_like=True):
    """One condition of one model, and one way in which trials of it ended."""

    outcome: str
    error: str | None = None
    """Kind of error."""
    verdict: str | None = None
    bits: int = 0
    types: tuple[str, ...] = ()
    """Why it is wrong, where that was diagnosed."""

    @property
    def condition(self) -> tuple[Any, ...]:
        """What it has in common with the other cells of its row in the overview."""
        return structs.astuple(self)[: len(Condition.__struct_fields__)]

    def has(self, name: str) -> bool:
        """Whether its trials have a score."""
        return bool(self.bits & _MASK[name])

    @property
    def differs(self) -> tuple[str, ...]:
        """The tracks that see its trials otherwise than the robust one."""
        return _differing(self.bits, self.verdict == "unscored") if self.outcome == "ok" else ()

    @property
    def place(self) -> tuple[object, ...]:
        """Where it stands in lists: by model, data, testbed, noise, and what went wrong before what went well."""
        went = (self.outcome == "ok", self.verdict == "correct", self.verdict or "", self.error or "", self.bits)
        where = (self.model, self.data, _ORDER.get(self.testbed, _LAST), -1.0 if self.noise is None else self.noise)
        return (*where, self.correct, self.k, self.arm, self.profile, *went, self.types)


def cell_of(stored: StoredResult) -> TrialCell:
    """The cell of a trial; here it is scored."""
    case, completion = stored.case, stored.completion
    condition = structs.asdict(condition_of(stored.model, case))
    if completion.outcome != "ok":
        return TrialCell(**condition, outcome=completion.outcome, error=kind_of_error(completion))
    values = score(case, completion.reply or "")
    bits = sum(mask for name, mask in _MASK.items() if values[name])
    return TrialCell(**condition, outcome="ok", verdict=str(values["verdict"]), bits=bits)


@cache
def _differing(bits: int, is_unscored: bool) -> tuple[str, ...]:
    seen = [name for name in SCORES if name != "correct" or not is_unscored]
    pairs = {track: [(_MASK[name], _MASK[f"{track}.{name}"]) for name in seen] for track in ("code", "paper")}
    return tuple(track for track, pair in pairs.items() if any(bool(bits & a) != bool(bits & b) for a, b in pair))


FACETS: Mapping[str, Callable[[TrialCell], tuple[str, ...]]] = {
    "model": lambda cell: (cell.model,),
    "data": lambda cell: (cell.data,),
    "lang": lambda cell: (cell.lang,),
    "testbed": lambda cell: (cell.testbed,),
    "noise": lambda cell: ("none" if cell.noise is None else f"{cell.noise:.3g}",),
    "arm": lambda cell: (cell.arm,),
    "outcome": lambda cell: (cell.outcome,),
    "error": lambda cell: () if cell.error is None else (cell.error,),
    "verdict": lambda cell: () if cell.verdict is None else (cell.verdict,),
    "misled": lambda cell: ("misled",) if cell.has("misled") else (),
    "type": lambda cell: cell.types,
    "differs": lambda cell: cell.differs,
}
"""What can be filtered by, and the values that a cell has there. To add one: one line."""


@lru_cache(maxsize=65_536)
def facet_values(cell: TrialCell) -> dict[str, tuple[str, ...]]:
    """The values of a cell for every facet; every request asks for all of them."""
    return {name: values(cell) for name, values in FACETS.items()}


@dataclass(frozen=True)
class CellFilter:
    """A filter: of each facet that it names, one of the values must be there."""

    values: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def misses(self, cell: TrialCell) -> list[str]:
        """The facets by which a cell is left out."""
        return [name for name, wanted in self.values.items() if wanted.isdisjoint(facet_values(cell)[name])]


def count_facets(cells: Iterable[tuple[TrialCell, int]], wanted: CellFilter) -> dict[str, dict[str, int]]:
    """For each facet, how many trials each of its values would give, all other facets being as they are."""
    counts: dict[str, dict[str, int]] = {name: {} for name in FACETS}
    for cell, trials in cells:
        missed = wanted.misses(cell)
        if len(missed) > 1:
            continue
        values = facet_values(cell)
        for name in missed or FACETS:
            counted = counts[name]
            for value in values[name]:
                counted[value] = counted.get(value, 0) + trials
    return {name: _in_order(name, _most(counted)) for name, counted in counts.items()}


def _most(counted: dict[str, int]) -> dict[str, int]:
    if len(counted) <= MOST_VALUES:
        return counted
    return dict(sorted(counted.items(), key=lambda pair: -pair[1])[:MOST_VALUES])


def _in_order(name: str, counted: dict[str, int]) -> dict[str, int]:
    def place(value: str) -> tuple[float, str]:
        if name == "noise":
            return (_LAST if value == "none" else float(value)), value
        if name == "type":  # E2 before E10
            return len(value), value
        return (_ORDER.get(value, _LAST) if name == "testbed" else 0), value

    return dict(sorted(counted.items(), key=lambda pair: place(pair[0])))

"""Group trials into cells, so that the viewer filters and counts a few thousand cells instead of all trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from ragbed.runs.condition import Condition
from ragbed.scoring.disagreements import SCORES
from ragbed.testbeds import TESTBEDS

MOST_VALUES = 200  # Maximum number of values to offer for a facet (the most frequent ones). URLs can select any value.
_ORDER = {name: position for position, name in enumerate(TESTBEDS)}
_WITH_TRUE = ("counterfactual", "conflict")  # Testbeds whose conditions set the share of true documents.
_LAST = 99  # Sort position of unknown values, after all known values.


class TrialCell(Condition, frozen=True, kw_only=True):
    """Trials of one model under one condition, all with the same outcome and scores.

    `differs` names the scorers that score the trials differently from the robust scorer.
    """

    outcome: str
    error: str | None = None  # Kind of error.
    verdict: str | None = None
    misled: bool = False
    differs: tuple[str, ...] = ()
    confidence: str | None = None  # Bin of width 0.1, e.g. "0.8–0.9", or why the confidence is unknown.
    types: tuple[str, ...] = ()  # Error types found by `ragbed diagnose`.

    @property
    def condition(self) -> Condition:
        """Return the condition, which is the same for all cells in a row of the overview."""
        return Condition(*(getattr(self, name) for name in Condition.__struct_fields__))

    @property
    def place(self) -> tuple[object, ...]:
        """Return the cell's sort key: model, data, testbed and noise, with failures first."""
        result = (self.outcome == "ok", self.verdict == "correct", self.verdict or "", self.error or "", self.misled)
        at = (self.model, self.data, _ORDER.get(self.testbed, _LAST), -1.0 if self.noise is None else self.noise)
        own = (self.correct, self.k, self.arm, self.profile)
        return (*at, *own, *result, self.differs, self.types, self.confidence or "", self.lang, self.testbed)


def read_score(outcome: str, error: str | None, verdicts: str) -> dict[str, Any]:
    """Return the fields of a cell that follow from a row of the table `scores`."""
    values = msgspec.json.decode(verdicts)
    differs = [
        scorer
        for scorer in ("code", "paper")
        if any(values.get(name) is not None and values[name] != values.get(f"{scorer}.{name}") for name in SCORES)
    ]
    return {
        "outcome": outcome,
        "error": error,
        "verdict": values.get("verdict"),
        "misled": values.get("misled") is True,
        "differs": tuple(differs),
        "confidence": values.get("confidence_problem"),
    }


def name_tenth(tenth: int) -> str:
    """Return the name of a bin of confidences."""
    return f"{tenth / 10:.1f}–{(tenth + 1) / 10:.1f}"


# The filters, each with a function that returns a cell's values for that filter.
FACETS: Mapping[str, Callable[[TrialCell], tuple[str, ...]]] = {
    "model": lambda cell: (cell.model,),
    "data": lambda cell: (cell.data,),
    "lang": lambda cell: (cell.lang,),
    "testbed": lambda cell: (cell.testbed,),
    "noise": lambda cell: ("none" if cell.noise is None else f"{cell.noise:.3g}",),
    "docs": lambda cell: () if cell.noise is None else (str(cell.k),),
    "arm": lambda cell: (cell.arm,),
    "profile": lambda cell: (cell.profile,),
    "true": lambda cell: (f"{cell.correct:.3g}",) if cell.testbed in _WITH_TRUE else (),
    "outcome": lambda cell: (cell.outcome,),
    "error": lambda cell: () if cell.error is None else (cell.error,),
    "verdict": lambda cell: () if cell.verdict is None else (cell.verdict,),
    "confidence": lambda cell: () if cell.confidence is None else (cell.confidence,),
    "misled": lambda cell: ("misled",) if cell.misled else (),
    "type": lambda cell: cell.types,
    "differs": lambda cell: cell.differs,
}


@lru_cache(maxsize=65_536)
def facet_values(cell: TrialCell) -> dict[str, tuple[str, ...]]:
    """Return a cell's values for every facet; they are cached because every request needs them."""
    return {name: values(cell) for name, values in FACETS.items()}


@dataclass(frozen=True)
class CellFilter:
    """A filter for cells. A cell matches if, for each facet in the filter, it has one of the selected values."""

    values: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def misses(self, cell: TrialCell) -> list[str]:
        """Return the facets that exclude a cell."""
        return [name for name, wanted in self.values.items() if wanted.isdisjoint(facet_values(cell)[name])]


def count_facets(cells: Iterable[tuple[TrialCell, int]], wanted: CellFilter) -> dict[str, dict[str, int]]:
    """Count the trials that would match each facet value if it were the only value selected for that facet."""
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
    return {name: _in_order(name, counted) for name, counted in counts.items()}


def _in_order(name: str, counted: dict[str, int]) -> dict[str, int]:
    """Return a facet's most frequent values in display order."""

    def place(value: str) -> tuple[float, str]:
        if name in ("noise", "docs", "true"):
            return (_LAST if value == "none" else float(value)), value
        if name == "type":  # Sorts E2 before E10.
            return len(value), value
        return (_ORDER.get(value, _LAST) if name == "testbed" else 0), value

    most = sorted(counted, key=counted.__getitem__, reverse=True)[:MOST_VALUES]
    return {value: counted[value] for value in sorted(most, key=place)}

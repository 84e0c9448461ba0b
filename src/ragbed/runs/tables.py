"""What a run says so far: counts and rates per condition, from what is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from msgspec import structs

from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case
from ragbed.scoring import score
from ragbed.testbeds import TESTBEDS

_RATES = (
    *("code.correct", "code.refused", "code.flagged"),
    *("paper.correct", "paper.refused", "paper.flagged"),
    *("correct", "refused", "flagged", "misled"),
)

_ORDER = {name: place for place, name in enumerate(TESTBEDS)}
"""Of testbeds; those of plug-ins come last."""


@dataclass
class ConditionCounts:
    """One condition of one model: every case in one outcome, and how many of them scored."""

    condition: Condition
    planned: int = 0
    """How many are to be asked; more than were, while a run is not finished."""
    asked: int = 0
    ok: int = 0
    refused: int = 0
    error: int = 0
    unscored: int = 0
    """Replies whose case has an answer that cannot be matched: in no rate of the robust track."""
    hits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_RATES, 0))

    def rate(self, name: str) -> float:
        """A score's share of what was asked: a failure counts against nobody's favour."""
        of = self.asked - self.unscored if name == "correct" else self.asked
        return self.hits[name] / of if of else 0.0

    def as_json(self) -> dict[str, object]:
        """Counts and rates as plain values."""
        counts = asdict(self)
        del counts["condition"]
        return structs.asdict(self.condition) | counts | {"rates": {name: round(self.rate(name), 6) for name in _RATES}}


def tabulate(results: Iterable[StoredResult]) -> list[ConditionCounts]:
    """Adds results up by condition: by model, dataset, testbed, language and noise."""
    cells: dict[Condition, ConditionCounts] = {}
    for result in results:
        add_result(cells, result)
    return _in_order(cells.values())


def add_result(cells: dict[Condition, ConditionCounts], result: StoredResult) -> None:
    """Counts a result in the cell of its condition."""
    _count(_cell_of(cells, result.model, result.case), result)


def add_planned(cells: Iterable[ConditionCounts], store: RunStore) -> list[ConditionCounts]:
    """Says in every cell how many were planned; conditions of which nothing was asked yet get a cell too."""
    known = {cell.condition: cell for cell in cells}
    for cell in known.values():
        cell.planned = cell.asked
    repeats = store.repeats()
    if sum(cell.asked for cell in known.values()) < len(store.models()) * store.size(repeats):
        _count_planned(known, store, repeats)
    return _in_order(known.values())


def _count_planned(cells: dict[Condition, ConditionCounts], store: RunStore, repeats: int) -> None:
    for cell in cells.values():
        cell.planned = 0
    models = [name for name, _ in store.models().values()]
    for case in store.cases():
        for model in models if case.feasible else ():
            _cell_of(cells, model, case).planned += repeats


def _cell_of(cells: dict[Condition, ConditionCounts], model: str, case: Case) -> ConditionCounts:
    condition = condition_of(model, case)
    cell = cells.get(condition)
    if cell is None:
        cell = cells[condition] = ConditionCounts(condition)
    return cell


def merge_cells(parts: Iterable[Iterable[ConditionCounts]]) -> list[ConditionCounts]:
    """Adds cells of the same conditions up."""
    cells: dict[Condition, ConditionCounts] = {}
    for cell in (cell for part in parts for cell in part):
        known = cells.setdefault(cell.condition, cell)
        if known is not cell:
            for name in ("asked", "ok", "refused", "error", "unscored"):
                setattr(known, name, getattr(known, name) + getattr(cell, name))
            known.hits = {name: count + cell.hits[name] for name, count in known.hits.items()}
    return _in_order(cells.values())


def _in_order(cells: Iterable[ConditionCounts]) -> list[ConditionCounts]:
    def place(cell: ConditionCounts) -> tuple[Any, ...]:
        of = cell.condition
        testbed = _ORDER.get(of.testbed, len(_ORDER)), of.testbed
        return of.model, of.data, *testbed, of.lang, of.noise or 0, of.profile, of.arm, of.k, of.correct

    return sorted(cells, key=place)


def _count(cell: ConditionCounts, result: StoredResult) -> None:
    outcome = result.completion.outcome
    cell.asked += 1
    setattr(cell, outcome, getattr(cell, outcome) + 1)
    if outcome == "ok":
        values = score(result.case, result.completion.reply or "")
        cell.unscored += values["correct"] is None
        for name in _RATES:
            cell.hits[name] += bool(values[name])

"""What a run says so far: counts and rates per condition, from what is stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from ragbed.run.store import RunStore, Stored
from ragbed.schema import Case
from ragbed.scorers import score
from ragbed.testbeds import TESTBEDS

_RATES = ("code.correct", "code.refused", "code.flagged", "paper.correct", "paper.refused", "paper.flagged")

_ORDER = {name: place for place, name in enumerate(TESTBEDS)}


@dataclass
class Cell:
    """One condition of one model: every case in one outcome, and how many of them scored."""

    model: str
    data: str
    lang: str
    testbed: str
    noise: float | None
    correct: float
    k: int
    arm: str
    profile: str
    planned: int = 0
    """Of an unfinished run more than asked."""
    asked: int = 0
    ok: int = 0
    refused: int = 0
    error: int = 0
    hits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_RATES, 0))

    def rate(self, name: str) -> float:
        """A score's share of what was asked: a failure counts against nobody's favour."""
        return self.hits[name] / self.asked if self.asked else 0.0

    def as_json(self) -> dict[str, object]:
        """Counts and rates as plain values."""
        return asdict(self) | {"rates": {name: round(self.rate(name), 6) for name in _RATES}}


def tabulate(store: RunStore) -> list[Cell]:
    """Adds a run's results up by condition: by model, dataset, testbed, language and noise."""
    cells: dict[tuple[object, ...], Cell] = {}
    for result in store.results():
        _count(_cell_of(cells, result.model, result.case), result)
    for cell in cells.values():
        cell.planned = cell.asked
    repeats = int(store.settings().get("repeats", "1"))
    if sum(cell.asked for cell in cells.values()) < len(store.models()) * store.size(repeats):
        _count_planned(cells, store, repeats)
    return sorted(
        cells.values(), key=lambda cell: (cell.model, cell.data, _ORDER[cell.testbed], cell.lang, cell.noise or 0)
    )


def _count_planned(cells: dict[tuple[object, ...], Cell], store: RunStore, repeats: int) -> None:
    for cell in cells.values():
        cell.planned = 0
    models = [name for name, _ in store.models().values()]
    for case in store.cases():
        for model in models if case.feasible else ():
            _cell_of(cells, model, case).planned += repeats


def _cell_of(cells: dict[tuple[object, ...], Cell], model: str, case: Case) -> Cell:
    condition = (case.noise, case.correct, case.k, case.arm, case.profile)
    key = (model, case.data, case.lang, case.testbed, *condition)
    cell = cells.get(key)
    if cell is None:
        cell = cells[key] = Cell(*key)
    return cell


def _count(cell: Cell, result: Stored) -> None:
    outcome = result.completion.outcome
    cell.asked += 1
    setattr(cell, outcome, getattr(cell, outcome) + 1)
    if outcome == "ok":
        values = score(result.case, result.completion.reply or "")
        for name in _RATES:
            cell.hits[name] += bool(values[name])

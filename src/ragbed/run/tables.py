"""What a run says so far: counts and rates per condition, from what is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from ragbed.run.store import Stored
from ragbed.scorers import score
from ragbed.testbeds import TESTBEDS

_RATES = (
    *("code.correct", "code.refused", "code.flagged"),
    *("paper.correct", "paper.refused", "paper.flagged"),
    *("correct", "refused", "flagged", "misled"),
)

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
        return asdict(self) | {"rates": {name: round(self.rate(name), 6) for name in _RATES}}


def tabulate(results: Iterable[Stored]) -> list[Cell]:
    """Adds results up by condition: by model, dataset, testbed, language and noise."""
    cells: dict[tuple[object, ...], Cell] = {}
    for result in results:
        case = result.case
        condition = (case.noise, case.correct, case.k, case.arm, case.profile)
        key = (result.model, case.data, case.lang, case.testbed, *condition)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(*key)
        _count(cell, result)
    return sorted(
        cells.values(), key=lambda cell: (cell.model, cell.data, _ORDER[cell.testbed], cell.lang, cell.noise or 0)
    )


def _count(cell: Cell, result: Stored) -> None:
    outcome = result.completion.outcome
    cell.asked += 1
    setattr(cell, outcome, getattr(cell, outcome) + 1)
    if outcome == "ok":
        values = score(result.case, result.completion.reply or "")
        cell.unscored += values["correct"] is None
        for name in _RATES:
            cell.hits[name] += bool(values[name])

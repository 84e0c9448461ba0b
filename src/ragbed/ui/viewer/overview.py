"""The first page: the counts and rates of every model under every condition, summed over cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from ragbed.analysis.metrics.trial_columns import full_name
from ragbed.analysis.statistics.rates import wilson
from ragbed.runs.condition import Condition
from ragbed.ui.viewer.cells import COUNTED, TrialCell
from ragbed.ui.viewer.run_reader import RunReader

MOST_ROWS = 1_500  # A longer table is neither small nor readable; filters show the other rows.


class ShownRate(Struct, frozen=True, array_like=True):
    """A rate with Wilson's interval over trials; `ragbed report` has intervals over questions."""

    value: float
    low: float
    high: float
    n: int


class OverviewRow(Condition, frozen=True, kw_only=True):
    """One condition of one model; `differs` counts responses that the tracks score differently."""

    run: str
    asked: int
    planned: int
    infeasible: int
    errors: int
    unscored: int
    differs: int
    rates: dict[str, ShownRate]


@dataclass
class _Sum:
    cell: TrialCell
    asked: int = 0
    errors: int = 0
    unscored: int = 0
    differs: int = 0
    hits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))

    def add(self, cell: TrialCell, trials: int) -> None:
        self.asked += trials
        self.errors += trials if cell.outcome != "ok" else 0
        self.unscored += trials if cell.verdict == "unscored" else 0
        self.differs += trials if cell.differs else 0
        for name in COUNTED if cell.bits else ():
            if cell.has(name):
                self.hits[name] += trials


def overview_rows(reader: RunReader, track: str) -> Iterator[OverviewRow]:
    """Yield the rows of one run, in the order of lists."""
    sums: dict[tuple[object, ...], _Sum] = {}
    for _, cell, trials in reader.cells:
        sums.setdefault(cell.condition, _Sum(cell)).add(cell, trials)
    repeats = reader.store.repeats()
    plan = {condition: (planned * repeats, infeasible) for condition, planned, infeasible in reader.plan()}
    # Planned conditions without a result have a row too, if the model has results on the same data.
    for model, data in {(total.cell.model, total.cell.data) for total in sums.values()}:
        for condition in plan:
            if condition[0] == data and (model, *condition) not in sums:
                sums[model, *condition] = _Sum(msgspec.convert([model, *condition, "ok"], TrialCell))
    for condition, total in sorted(sums.items(), key=lambda pair: pair[1].cell.place):
        planned, infeasible = plan.get(condition[1:], (total.asked, 0))
        yield OverviewRow(
            *total.cell.condition,
            run=reader.name,
            asked=total.asked,
            planned=planned,
            infeasible=infeasible,
            errors=total.errors,
            unscored=total.unscored,
            differs=total.differs,
            rates=_rates(total, track),
        )


def _rates(total: _Sum, track: str) -> dict[str, ShownRate]:
    rates = {}
    for name in ("correct", "refused", "flagged", *(("misled",) if track == "robust" else ())):
        n = total.asked - (total.unscored if name == "correct" and track == "robust" else 0)
        if n:
            rates[name] = ShownRate(*wilson(total.hits[full_name(name, track)], n), n)
    return rates

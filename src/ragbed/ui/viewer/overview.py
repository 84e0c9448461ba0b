"""The first page: every condition of every model with its counts and rates, added up from cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from ragbed.analysis.metrics.trial_columns import full_name
from ragbed.analysis.statistics.rates import wilson
from ragbed.runs.condition import Condition
from ragbed.testbeds import wanted_scores
from ragbed.ui.viewer.cells import COUNTED, TrialCell
from ragbed.ui.viewer.run_reader import RunReader

MOST_ROWS = 1_500
"""Of the table: more would make a page that is neither small nor readable; a filter brings the rest."""


class ShownRate(Struct, frozen=True, array_like=True):
    """A share of what was asked, with Wilson's interval over trials; `ragbed report` has intervals over questions."""

    value: float
    low: float
    high: float
    n: int


class OverviewRow(Condition, frozen=True, kw_only=True):
    """One condition of one model."""

    run: str
    asked: int
    planned: int
    infeasible: int
    errors: int
    unscored: int
    differs: int
    """Replies that the original code's or the paper's way of counting sees otherwise."""
    rates: dict[str, ShownRate]
    wanted: tuple[str, ...]
    """The scores of which a higher rate is better, as the testbed declares them."""


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


def overview_rows(book: RunReader, track: str) -> Iterator[OverviewRow]:
    """The rows of one run, in the order of lists."""
    sums: dict[tuple[object, ...], _Sum] = {}
    for _, cell, trials in book.cells:
        sums.setdefault(cell.condition, _Sum(cell)).add(cell, trials)
    repeats = book.store.repeats()
    plan = {condition: (planned * repeats, infeasible) for condition, planned, infeasible in book.plan()}
    # What was planned of data that a model was asked, and is not asked yet or cannot be, has a row too.
    for model, data in {(total.cell.model, total.cell.data) for total in sums.values()}:
        for condition in plan:
            if condition[0] == data and (model, *condition) not in sums:
                sums[model, *condition] = _Sum(msgspec.convert([model, *condition, "ok"], TrialCell))
    for condition, total in sorted(sums.items(), key=lambda pair: pair[1].cell.place):
        planned, infeasible = plan.get(condition[1:], (total.asked, 0))
        yield _row(book.name, total, planned, infeasible, track)


def _row(run: str, total: _Sum, planned: int, infeasible: int, track: str) -> OverviewRow:
    names = ("correct", "refused", "flagged", *(("misled",) if track == "robust" else ()))
    rates = {}
    for name in names:
        n = total.asked - (total.unscored if name == "correct" and track == "robust" else 0)
        if n:
            rates[name] = ShownRate(*wilson(total.hits[full_name(name, track)], n), n)
    return OverviewRow(
        *total.cell.condition, run=run, asked=total.asked, planned=planned, infeasible=infeasible,
        errors=total.errors, unscored=total.unscored, differs=total.differs, rates=rates,
        wanted=wanted_scores(total.cell.testbed),
    )  # fmt: skip

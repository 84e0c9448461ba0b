"""Metrics: from scored trials to the cells of a report, one file per ability.

To add one: a module with `measure(maker)`, and one line in METRICS. docs/statistics.md has the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ragbed.metrics import closed_book, counterfactual, integration, noise, position, rejection, transitions
from ragbed.metrics.cells import Cell, Maker, Scope
from ragbed.metrics.knowledge import common_items, known_items, of_items, unknown_items
from ragbed.metrics.sheet import TRACKS, Mask, Sheet, make_sheets
from ragbed.metrics.trial import Scored

METRICS: dict[str, Callable[[Maker], Iterator[Cell]]] = {
    "noise": noise.measure,
    "position": position.measure,
    "rejection": rejection.measure,
    "integration": integration.measure,
    "counterfactual": counterfactual.measure,
    "closed-book": closed_book.measure,
    "transitions": transitions.measure,
}
"""By the name of the table."""

_ADJUSTED = ("noise", "rejection", "integration", "counterfactual")
"""Tables that are also made of the questions that a model does, and does not, answer without documents."""


def measure(trials: Iterable[Scored], tracks: Sequence[str] = TRACKS) -> Iterator[Cell]:
    """All cells of all models and datasets."""
    sheets = make_sheets(trials)
    for track in tracks:
        scored = [sheet for sheet in sheets if sheet.has("correct", track)]
        for sheet in scored:
            yield from measure_sheet(sheet, track)
        yield from measure_common(scored, track)


def measure_common(sheets: Sequence[Sheet], track: str) -> Iterator[Cell]:
    """Counterfactual cells of several models on the questions that all of them know: the fair comparison."""
    together: dict[tuple[str, str, str], list[Sheet]] = {}
    for sheet in sheets:
        together.setdefault(sheet.key[1:], []).append(sheet)
    for group in together.values():
        common = common_items(group, track) if len(group) > 1 else set()
        for sheet in group if common else ():
            items = np.array([item in common for item in sheet.items])
            part = sheet.restricted(of_items(sheet, items))
            yield from counterfactual.measure(Maker("counterfactual", part, track, "common"))


def measure_sheet(sheet: Sheet, track: str) -> Iterator[Cell]:
    """All cells of one model on one dataset: of all questions, and of those known and unknown."""
    for table, of in METRICS.items():
        yield from of(Maker(table, sheet, track))
    knowledge: dict[Scope, Mask] = {"known": known_items(sheet, track), "unknown": unknown_items(sheet, track)}
    for scope, items in knowledge.items():
        if items.any() and not items.all():
            part = sheet.restricted(of_items(sheet, items))
            for table in _ADJUSTED:
                yield from METRICS[table](Maker(table, part, track, scope))

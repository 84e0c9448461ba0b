"""Metrics: from scored trials to the cells of a report, one file per ability.

To add one: a module with `measure(maker)`, and one line in METRICS. docs/statistics.md has the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from ragbed.analysis.metrics import (
    counterfactual,
    integration,
    knowledge,
    noise,
    rejection,
    retrieval,
    strategies,
)
from ragbed.analysis.metrics.cells import Cell, CellBuilder, Scope
from ragbed.analysis.metrics.knowledge import common_items, known_items, of_items, unknown_items
from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.metrics.trial_columns import TRACKS, Mask, TrialColumns, make_sheets
from ragbed.analysis.statistics.multiple import benjamini_hochberg
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.prompts.strategies import MARK

METRICS: dict[str, Callable[[CellBuilder], Iterator[Cell]]] = {
    "noise": noise.measure,
    "position": noise.measure_positions,
    "rejection": rejection.measure,
    "integration": integration.measure,
    "counterfactual": counterfactual.measure,
    "closed-book": knowledge.measure,
    "transitions": knowledge.measure_transitions,
    "own-retrieval": retrieval.measure,
}
"""By the name of the table."""

_TESTS = ("drop_p", "decline_p", "same_p")
_PLUGIN_SCORES = {"accuracy": "correct", "refusal": "refused", "error_detection": "flagged"}
_ADJUSTED = ("noise", "rejection", "integration", "counterfactual")
"""Tables that are also made of the questions that a model does, and does not, answer without documents."""


def measure(trials: Iterable[Scored], tracks: Sequence[str] = TRACKS) -> Iterator[Cell]:
    """All cells of all models and datasets, and what only several together can tell."""
    return measure_sheets(make_sheets(trials), tracks)


def measure_sheets(sheets: Sequence[TrialColumns], tracks: Sequence[str], *, by_name: bool = True) -> Iterator[Cell]:
    """The same of sheets.

    Args:
        sheets: Of all models and datasets.
        tracks: Whose verdicts.
        by_name: Whether sheets name their questions, so that they can be compared question by question.
    """
    for track in tracks:
        scored = [sheet for sheet in sheets if sheet.has("correct", track) or sheet.is_silent]
        plain = {sheet.key for sheet in scored if MARK not in sheet.key.profile}
        tests: list[Cell] = []
        for sheet in scored:
            for cell in measure_sheet(sheet, track):
                yield cell
                if cell.estimate.metric in _TESTS and cell.scope == "all" and cell.key in plain:
                    tests.append(cell)
        if len(scored) > 1 and by_name:
            yield from strategies.measure(scored, track)
        if len(plain) > 1:  # remedies leave the numbers of the plain prompt alone
            yield from adjust_board(tests)
        if len(scored) > 1 and by_name:
            yield from measure_common(scored, track)


def adjust_board(tests: Sequence[Cell]) -> Iterator[Cell]:
    """The p values of a whole board, adjusted (Benjamini and Hochberg) over all models, datasets and ratios."""
    for metric in _TESTS:
        cells = [cell for cell in tests if cell.estimate.metric == metric]
        values = benjamini_hochberg([cell.estimate.value or 0.0 for cell in cells])
        for cell, value in zip(cells, values.tolist(), strict=True):
            yield replace(cell, estimate=structs.replace(cell.estimate, metric=f"{metric[:-2]}_bh", value=value))


def measure_common(sheets: Sequence[TrialColumns], track: str) -> Iterator[Cell]:
    """Counterfactual cells of several models on the questions that all of them know: the fair comparison."""
    together: dict[tuple[str, str, str], list[TrialColumns]] = {}
    for sheet in sheets:
        together.setdefault(sheet.key[1:], []).append(sheet)
    for group in together.values():
        common = common_items(group, track) if len(group) > 1 else set()
        for sheet in group if common else ():
            items = np.array([item in common for item in sheet.items])
            part = sheet.restricted(of_items(sheet, items))
            yield from counterfactual.measure(CellBuilder("counterfactual", part, track, "common"))


def measure_sheet(sheet: TrialColumns, track: str) -> Iterator[Cell]:
    """All cells of one model on one dataset: of all questions, and of those known and unknown."""
    for table, of in METRICS.items():
        yield from of(CellBuilder(table, sheet, track))
    for testbed in dict.fromkeys(testbed for testbed, _ in sheet.kinds if testbed not in TESTBEDS):
        yield from _measure_plugin_testbed(CellBuilder(testbed, sheet, track))
    knowledge: dict[Scope, Mask] = {"known": known_items(sheet, track), "unknown": unknown_items(sheet, track)}
    for scope, items in knowledge.items():
        if items.any() and not items.all():
            part = sheet.restricted(of_items(sheet, items))
            for table in _ADJUSTED:
                yield from METRICS[table](CellBuilder(table, part, track, scope))


def _measure_plugin_testbed(maker: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of a plug-in's testbed, in a table of its name, by number of documents."""
    asked = maker.sheet.of(maker.table)
    for k in np.unique(maker.sheet.k[asked]).tolist():
        for metric, name in _PLUGIN_SCORES.items():
            yield maker.rate(metric, asked & (maker.sheet.k == k), maker.score(name), k=k)

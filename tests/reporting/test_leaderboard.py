"""Cells as rows of a board."""

from __future__ import annotations

from ragbed.analysis.metrics.cells import Cell, CellKey
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.reporting.summary import make_standings
from ragbed.schema import Estimate


def _cell(table: str, data: str, metric: str, value: float | None, **place: float) -> Cell:
    estimate = Estimate(
        metric=metric, value=value, low=None, high=None, n=9, asked=9, questions=9, errors=0, infeasible=0
    )
    return Cell(table, TrialGroup("m", data, "en", "robust"), "robust", "all", estimate, CellKey(**place))  # type: ignore[typeddict-item]


def test_abilities_of_different_datasets_share_a_row() -> None:
    cells = [
        _cell("noise", "base", "accuracy", 0.9, noise=0.0, k=5),
        _cell("noise", "base", "accuracy", 0.5, noise=0.8, k=5),
        _cell("integration", "int", "accuracy", 0.7, noise=0.0, k=5),
        _cell("closed-book", "base", "accuracy", 0.1),
        _cell("closed-book", "int", "accuracy", 0.2),
    ]
    (row,) = make_standings(cells, "robust")
    shown = {name: estimate.value for name, estimate in row.cells.items()}
    assert shown == {"noise_first": 0.9, "noise_last": 0.5, "integration": 0.7, "closed_book": 0.1}
    assert row.data == ["base", "int"]


def test_two_datasets_of_one_ability_have_separate_rows() -> None:
    cells = [
        _cell("noise", data, "accuracy", value, noise=0.0, k=5) for data, value in (("en", 0.4), ("en_refine", 0.6))
    ]
    rows = make_standings(cells, "robust")
    assert [(row.data, row.cells["noise_first"].value) for row in rows] == [(["en"], 0.4), (["en_refine"], 0.6)]


def test_rows_differ_by_the_number_of_documents() -> None:
    cells = [_cell("noise", "en", "accuracy", 0.5, noise=0.0, k=k) for k in (5, 10)]
    assert [row.entrant.k for row in make_standings(cells, "robust")] == [5, 10]


def test_all_values_of_a_dataset_are_in_one_row() -> None:
    cells = [
        *(_cell("noise", data, "accuracy", value, noise=0.0, k=5) for data, value in (("en", 0.4), ("other", 0.6))),
        _cell("rejection", "other", "refusal_recall", 0.2, noise=1.0, k=5),
        _cell("integration", "int", "accuracy", 0.7, noise=0.0, k=5),
    ]
    first, second = make_standings(cells, "robust")
    assert (first.data, list(first.cells)) == (["en", "int"], ["noise_first", "noise_last", "integration"])
    assert (second.data, list(second.cells)) == (["other"], ["noise_first", "noise_last", "refuses"])


def test_ratios_without_feasible_cases_are_not_shown() -> None:
    values = {0.0: None, 0.2: 0.9, 0.6: 0.5, 0.8: None}
    cells = [_cell("noise", "en", "accuracy", value, noise=ratio, k=5) for ratio, value in values.items()]
    (row,) = make_standings(cells, "robust")
    assert {name: estimate.value for name, estimate in row.cells.items()} == {"noise_first": 0.9, "noise_last": 0.5}

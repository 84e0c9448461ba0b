"""Models with a known policy reach the values of the length testbed that follow from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ragbed
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.run_cells import read_report_cells
from ragbed.analysis.trials.columns import Trial, group_rows
from ragbed.reporting.figures import make_figures
from ragbed.reporting.tables import make_report
from tests.synth_data import write_long

NUMBERS = (1, 5, 10, 20)
Values = dict[tuple[str, int | None, int | None], float | None]


@pytest.fixture(scope="module", params=["en", "zh"])
def cells(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    folder = tmp_path_factory.mktemp("length")
    dataset = write_long(folder, request.param, items=20, num_docs=20)
    ragbed.run(
        ["scripted/oracle", "scripted/first-doc", "scripted/last-doc"], str(dataset.path), testbeds="length",
        num_docs=NUMBERS, out=folder / "run", cache="off",
    )  # fmt: skip
    return read_report_cells([folder / "run"], ["robust"])


def _values(cells: list[Cell], model: str) -> Values:
    return {
        (cell.estimate.metric, cell.place.get("k"), cell.place.get("slot")): cell.estimate.value
        for cell in cells
        if (cell.table, cell.key.model) == ("length", f"scripted/{model}")
    }


def test_the_oracle_does_not_depend_on_length_or_position(cells: list[Cell]) -> None:
    found = _values(cells, "oracle")
    for k in NUMBERS:
        assert found["accuracy", k, None] == 1
    for k in NUMBERS[1:]:
        assert found["change", k, None] == found["middle_loss", k, None] == 0
        assert [found["accuracy_by_part", k, part] for part in range(5)] == [1] * 5
    assert found["slope_per_doubling", None, None] == 0


@pytest.mark.parametrize(("model", "part"), [("first-doc", 0), ("last-doc", 4)])
def test_reading_one_position_gives_one_over_the_number_of_documents(cells: list[Cell], model: str, part: int) -> None:
    found = _values(cells, model)
    for k in NUMBERS:
        assert found["accuracy", k, None] == pytest.approx(1 / k)
    for k in NUMBERS[1:]:
        by_part = [found["accuracy_by_part", k, number] for number in range(5)]
        assert by_part == pytest.approx([5 / k if number == part else 0 for number in range(5)])
        assert found["middle_loss", k, None] == pytest.approx(2.5 / k)
        assert found["change", k, None] == pytest.approx(1 / k - 1)
    slope = np.polyfit(np.log2(NUMBERS), 1 / np.array(NUMBERS), 1)[0]
    assert found["slope_per_doubling", None, None] == pytest.approx(slope)


def test_the_report_has_the_tables_and_the_figures(cells: list[Cell]) -> None:
    tables = {table.name: table for table in make_report(["run"], cells, "robust").tables}
    assert [column.heading for column in tables["length"].columns][:-1] == ["1", "5", "10", "20"]
    assert [column.metric for column in tables["length"].columns][-1] == "slope_per_doubling"
    assert {row.docs for row in tables["length parts"].rows} == set(NUMBERS)
    assert len(tables["length"].rows) == 3
    for lang in ("en", "zh"):
        charts = {one.name.partition("-")[0]: one for one in make_figures(cells, "robust", read_words(lang))}
        assert charts["length"].columns[1:] == ["1", "5", "10", "20"]


def test_conditions_are_separate_by_distractors_and_supporting_documents(tmp_path: Path) -> None:
    for name, supporting in (("one", 1), ("two", 2)):
        ragbed.run(
            "scripted/oracle", "ragbed-mini-en_base", testbeds="length", num_docs=(4, 6), supporting=supporting,
            distractors="related,random", limit=3, out=tmp_path / name, cache="off",
        )  # fmt: skip
    cells = read_report_cells([tmp_path / "one", tmp_path / "two"], ["robust"])
    found = [cell.place.get("arm") for cell in cells if cell.estimate.metric == "slope_per_doubling"]
    assert sorted(map(str, found)) == ["None", "random", "random, 2 supporting", "related, 2 supporting"]
    assert not any(cell.estimate.metric == "middle_loss" and "2" in (cell.place.get("arm") or "") for cell in cells)
    (curves,) = [one for one in make_figures(cells, "robust", read_words("en")) if one.name.startswith("length")]
    assert len(curves.rows) == 4


def _scored(item: int, k: int, *, feasible: bool, correct: bool) -> Trial:
    return Trial(
        model="m", data="d", item=str(item), lang="en", testbed="length", profile="robust", noise=1 - 1 / k, k=k,
        outcome="ok" if feasible else "infeasible", scores={"correct": correct} if feasible else None,
    )  # fmt: skip


def test_the_curve_uses_only_questions_with_a_score_at_every_length() -> None:
    trials = [  # each question has the same result at every length; 40 harder questions have fewer than 20 documents
        _scored(item, k, feasible=k < 20 or item >= 40, correct=item % 5 == 0 if item < 40 else item % 10 != 0)
        for item in range(100)
        for k in (1, 5, 20)
    ] + [_scored(item, 100, feasible=False, correct=False) for item in range(100)]
    cells = [
        cell
        for cell in measure(group_rows(trials))
        if (cell.table, cell.scorer, cell.scope) == ("length", "robust", "all")
    ]
    found = {(cell.estimate.metric, cell.place.get("k")): cell.estimate for cell in cells}
    assert [found["accuracy", k].n for k in (1, 5, 20, 100)] == [100, 100, 60, 0]
    slope = found["slope_per_doubling", None]
    assert slope.value == pytest.approx(0)
    assert (slope.n, slope.questions) == (180, 60)

"""What a plan lets a run tell, against what real runs tell."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragbed.analysis.gates import PlannedCells
from ragbed.analysis.metrics import METRICS
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.run_cells import read_report_cells
from ragbed.api.planning import plan_run
from ragbed.api.spec import RunSpec
from ragbed.runs.execution import Job, run
from ragbed.testbeds.prompts.strategies import MARK
from tests.runs.harness import ask_nobody

_DATA = [f"ragbed-mini-en_{kind}" for kind in ("base", "int", "fact")]
_WIDE: dict[str, Any] = {
    "testbeds": "noise,rejection,integration,counterfactual,closed-book,no-documents",
    "distractors": ["related", "random", "fixed"],
    "true_ratio": [0, 0.4, 1],
    "noise": [0, 0.4, 1],
    "positions": "all",
    "repeats": 2,
    "strategies": "quote",
}
_HANG_ON_REPLIES = {"corrected_of_flagged"}
"""Over replies that flag: the oracle flags nothing."""


@pytest.mark.parametrize(
    ("options", "least"),
    [({}, 68), (_WIDE, 100), ({"profile": "code-2024"}, 68)],
    ids=["plain", "wide", "code"],
)
def test_what_a_run_tells_was_foreseen_and_little_else(tmp_path: Path, options: dict[str, Any], least: int) -> None:
    """Each run has many cells: 69 with the default profile.

    There were 83 before `accuracy_band` (8), `aligned_accuracy` (3), `correct_by_leak`, `correct_from_memory` and
    `format_adherence` were removed. No other cell is missing.
    """
    spec = replace(RunSpec(model="scripted/oracle", data=_DATA, **options), limit=6, out=tmp_path)
    with closing(plan_run(spec)) as job:
        foreseen = {_place(cell) for cell in _foresee(job)}
        run(job, ask_nobody)
    cells = [cell for cell in read_report_cells([tmp_path], ["robust"]) if _is_for_gates(cell) and cell.estimate.asked]
    told = {_place(cell) for cell in cells if cell.estimate.value is not None}
    assert len(told) > least
    assert told <= foreseen
    assert {metric for _, _, metric, *_ in foreseen - {_place(cell) for cell in cells}} <= _HANG_ON_REPLIES


def test_one_question_stands_for_all() -> None:
    spec = RunSpec(model="scripted/oracle", data=_DATA, testbeds=["noise", "closed-book"])
    with closing(plan_run(spec)) as job:
        assert {cell.estimate.asked for cell in _foresee(job) if cell.estimate.metric == "accuracy"} == {1}


def _foresee(job: Job) -> list[Cell]:
    foreseen = PlannedCells(job.repeats)
    for case in job.cases():
        foreseen.add(case)
    return [cell for cell in foreseen.cells() if _is_for_gates(cell) and cell.estimate.asked]


def _is_for_gates(cell: Cell) -> bool:
    return cell.table in METRICS and cell.scope == "all" and MARK not in cell.key.profile


def _place(cell: Cell) -> tuple[object, ...]:
    return (cell.table, cell.key.data, cell.estimate.metric, *sorted(cell.place.items()))

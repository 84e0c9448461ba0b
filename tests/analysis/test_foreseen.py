"""The cells predicted from a plan against those of real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.analysis.gates import PlannedCells
from ragbed.analysis.metrics import METRICS
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.run_cells import read_report_cells
from ragbed.cli.run import open_typed
from ragbed.runs.execution import Job, run
from ragbed.testbeds.prompts.strategies import MARK
from tests.runs.harness import ask_nobody

_DATA = [word for kind in ("base", "int", "fact") for word in ("-d", f"ragbed-mini-en_{kind}")]
_ALL = "noise,rejection,integration,counterfactual,closed-book,no-documents,parts"
_WIDE = [
    *("--testbeds", _ALL, "--distractors", "related,random,fixed", "--true-ratio", "0,0.4,1", "--noise", "0,0.4,1"),
    *("--positions", "all", "--repeats", "2", "--strategies", "quote"),
]
_HANG_ON_REPLIES = {"corrected_of_flagged", "resistance_of_known", "override_of_known", "closed_book_of_known"}
"""Metrics over flagged responses or known questions: the oracle flags nothing and has no closed-book knowledge."""


@pytest.mark.parametrize("words", [[], _WIDE, ["--profile", "code-2024"]], ids=["plain", "wide", "code"])
def test_the_cells_of_a_run_are_predicted_by_its_plan(tmp_path: Path, words: list[str]) -> None:
    with open_typed(["-m", "scripted/oracle", *_DATA, "--limit", "6", *words, "--out", str(tmp_path)]) as job:
        foreseen = {_place(cell) for cell in _foresee(job)}
        run(job, ask_nobody)
    cells = [cell for cell in read_report_cells([tmp_path], ["robust"]) if _is_for_gates(cell) and cell.estimate.asked]
    told = {_place(cell) for cell in cells if cell.estimate.value is not None}
    assert len(told) > 100
    assert told <= foreseen
    assert {metric for _, _, metric, *_ in foreseen - {_place(cell) for cell in cells}} <= _HANG_ON_REPLIES


def test_one_question_represents_all() -> None:
    with open_typed(["-m", "scripted/oracle", *_DATA, "--testbeds", "noise,closed-book"]) as job:
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

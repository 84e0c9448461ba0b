"""The tables of a run: rates with their counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.runs.circuit_breaker import CircuitOpen
from ragbed.runs.execution import run
from ragbed.runs.scoring import tabulate_run
from ragbed.schema import Completion
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_job


def test_a_finished_run_attempted_all_planned_cases(tmp_path: Path) -> None:
    run(make_job(tmp_path, 20, TalkingModel(agree)), ask_nobody)
    (cell,) = tabulate_run(tmp_path)
    assert (cell.asked, cell.planned, cell.rate("code.correct")) == (20, 20, 1.0)


def test_an_unfinished_run_shows_what_was_planned(tmp_path: Path) -> None:
    lost = TalkingModel(lambda _: Completion(outcome="error", error="auth: no"), "test/lost")
    with pytest.raises(CircuitOpen):
        run(make_job(tmp_path, 100, lost, TalkingModel(agree, "test/well")), ask_nobody)
    cells = {cell.condition.model: cell for cell in tabulate_run(tmp_path)}
    assert (cells["test/well"].asked, cells["test/well"].planned) == (100, 100)
    assert 3 <= cells["test/lost"].asked < cells["test/lost"].planned == 100

"""Model calls of a build: stored responses are reused, and the budget of the build is a running total."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from ragbed.builder.model_calls import BuildModelClient, Request, find_identities
from ragbed.models.base import Sampling
from ragbed.runs.budget import Budget
from ragbed.runs.execution import run
from ragbed.schema import Case, Completion
from tests.runs.harness import TalkingModel, ask_nobody, make_case, make_job

MODEL = "test/talking"
TASKS = [f"task-{number}" for number in range(6)]


def _reply(_: Case) -> Completion:
    return Completion(outcome="ok", reply="Yes.", usage={"in": 100, "out": 10})


class Calls:
    """Calls a model for requests, with a price of one cent per call, and keeps the budgets that it was given."""

    def __init__(self, folder: Path) -> None:
        self.tasks: list[str] = []
        self.budgets: list[Budget] = []
        self.client = BuildModelClient(folder, self.call, self.make_budget)

    def make_budget(self, _: str) -> Budget:
        return Budget(1.0, {MODEL: lambda _: Decimal("0.01")})

    def call(self, folder: Path, request: Request, sampling: Sampling, budget: Budget | None) -> None:
        assert budget is not None
        self.tasks.append(request.task)
        self.budgets.append(budget)
        run(
            make_job(folder, len(request.cases), TalkingModel(_reply), settings={}, grows=True, budget=budget),
            ask_nobody,
        )


@pytest.fixture(autouse=True)
def _one_cent_per_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbed.runs.budget.find_price", lambda _: lambda _: Decimal("0.01"))


def _request(task: str, cases: int = 3) -> Request:
    return Request(task, MODEL, [make_case(number) for number in range(cases)])


def _spent(budget: Budget) -> float:
    return float(budget.spent)


def test_every_task_has_the_budget_that_the_others_have_left(tmp_path: Path) -> None:
    earlier, calls = Calls(tmp_path), Calls(tmp_path)
    for task in TASKS[:3]:
        earlier.client(_request(task))
    for task in TASKS[3:]:
        calls.client(_request(task))
    budgets = [*earlier.budgets, *calls.budgets]
    assert [round(_spent(budget), 2) for budget in budgets] == [0.03, 0.06, 0.09, 0.12, 0.15, 0.18]


def test_a_resumed_task_pays_its_earlier_calls_once(tmp_path: Path) -> None:
    Calls(tmp_path).client(_request("task-0", cases=2))
    calls = Calls(tmp_path)
    calls.client(_request("task-0", cases=5))
    assert [round(_spent(budget), 2) for budget in calls.budgets] == [0.05]


def test_complete_responses_are_reused(tmp_path: Path) -> None:
    calls = Calls(tmp_path)
    first = calls.client(_request("task-0"))
    assert (calls.client(_request("task-0")), calls.tasks) == (first, ["task-0"])
    assert find_identities(tmp_path, [MODEL]) == {MODEL: "1"}

"""The cost table of a report."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.analysis.run_cells import TABLE, read_report_cells
from ragbed.models.base import Model
from ragbed.runs.execution import run
from ragbed.runs.forecast import forecast
from ragbed.runs.prices import cost_of, need_price
from ragbed.schema import Estimate, Outcome, Step
from tests.runs.harness import TalkingModel, ask_nobody, make_job
from tests.servers.mock_batches import BatchBehaviour, batches_in_thread

DATA = "ragbed-mini-en_base"
_PRICED = "openai/gpt-4o-mini"
_CALL = (1000 * Decimal("0.15") + 100 * Decimal("0.6")) / 1_000_000


def _model(name: str = _PRICED, out: int = 100) -> Model:
    def answer(case: ragbed.Case) -> ragbed.Completion:
        reply = case.answer[0][0] if case.noise == 0 else "I do not know."
        return ragbed.Completion(outcome="ok", reply=reply, usage={"in": 1000, "out": out}, latency_s=0.1)

    return TalkingModel(answer, name)


def test_a_report_has_the_cost_per_model_per_case_and_per_correct_answer(tmp_path: Path) -> None:
    run = ragbed.run(_model(), DATA, testbeds="noise", noise=[0, 0.4], limit=10, out=tmp_path / "r", progress=False)
    (row,) = run.table("cost")
    assert row["n"] == 20
    assert row["cost ($)"] == pytest.approx(float(20 * _CALL), rel=1e-12)
    assert row["cost per case ($)"] == pytest.approx(float(_CALL), rel=1e-12)
    assert row["cost per correct answer ($)"] == pytest.approx(float(2 * _CALL), rel=1e-12)
    text = ragbed.report(run, format="md")["text"]
    assert "| cost per case ($) | cost per correct answer ($) |" in text
    assert "0.00021" in text
    page = ragbed.report(run, format="html", out=tmp_path / "r.html")["paths"][0].read_text("utf-8")
    assert "Cost of the responses (US dollars)" in page
    assert "回答的费用（美元）" in page
    assert {cell["metric"] for cell in json.loads(ragbed.report(run, format="json")["text"])} >= {"cost_per_case"}


def test_models_without_a_price_have_no_cost(tmp_path: Path) -> None:
    run = ragbed.run(_model("test/free"), DATA, testbeds="noise", noise=0, limit=3, out=tmp_path / "r", progress=False)
    assert "cost" not in run.tables()


def test_a_forecast_evaluates_cases_of_all_lengths_although_conditions_alternate() -> None:
    def answer(case: ragbed.Case) -> ragbed.Completion:
        return ragbed.Completion(outcome="ok", reply="", usage={"in": 1, "out": case.k}, latency_s=case.k)

    model = TalkingModel(answer, _PRICED)
    (row,) = ragbed.forecast(model, DATA, testbeds="length", num_docs=[1, 2, 3, 4, 5], limit=20, progress=False)
    assert row["tokens_out"] == 20 * sum(range(1, 6))
    assert row["minutes"] * model.concurrency * 60 == pytest.approx(20 * sum(range(1, 6)))


@pytest.mark.parametrize(("limit", "minutes"), [({"rpm": 1_200}, 40 / 1_200)])
def test_the_duration_in_a_forecast_takes_rate_limits_into_account(
    limit: dict[str, Any], minutes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    with batches_in_thread(BatchBehaviour()) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        options: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 40, "progress": False}
        (row,) = ragbed.forecast(_PRICED, DATA, **options | limit)
    assert minutes * 0.9 <= row["minutes"] <= minutes * 1.2


def test_a_forecast_of_batches_has_half_the_cost() -> None:
    cases = list(
        ragbed.plan_run(ragbed.RunSpec(model="scripted/oracle", data=DATA, testbeds="noise", limit=10)).cases()
    )
    direct, batch = (asyncio.run(forecast(_model(), cases, 1, batch=batch)).dollars for batch in (False, True))
    assert batch is not None
    assert direct == pytest.approx(2 * batch)


def _costs(folder: Path, respond: Callable[[ragbed.Case], ragbed.Completion], size: int = 1) -> dict[str, Estimate]:
    """Return the cost cells of the robust scorer of a run."""
    run(make_job(folder, size, TalkingModel(respond, _PRICED)), ask_nobody)
    return {
        cell.estimate.metric: cell.estimate for cell in read_report_cells([folder], ["robust"]) if cell.table == TABLE
    }


def test_the_cost_per_correct_answer_counts_priced_cases(tmp_path: Path) -> None:
    def respond(case: ragbed.Case) -> ragbed.Completion:
        usage = {"in": 1000, "out": 100} if int(case.item) < 4 else None
        reply = case.answer[0][0] if int(case.item) % 2 else "I do not know."
        return ragbed.Completion(outcome="ok", reply=reply, usage=usage)

    cost = _costs(tmp_path, respond, 8)["cost_per_correct"]
    assert cost.value == pytest.approx(float(4 * _CALL / 2))
    assert (cost.n, cost.asked, cost.unsure) == (4, 8, 4)


def test_a_cached_turn_of_an_episode_counts_with_its_price(tmp_path: Path) -> None:
    turns = (
        Step(messages=(), usage={"in": 100, "out": 10}, cached=1_700_000_000),
        Step(messages=(), usage={"in": 200, "out": 20}),
    )
    completion = ragbed.Completion(outcome="ok", reply="x", usage={"in": 300, "out": 30}, steps=turns)
    price = need_price(_PRICED)
    assert cost_of(completion, price) == price({"in": 200, "out": 20})
    both = price({"in": 100, "out": 10}) + price({"in": 200, "out": 20})
    assert _costs(tmp_path, lambda _: completion)["cost"].value == pytest.approx(float(both))


def test_filtered_calls_are_not_counted_as_errors(tmp_path: Path) -> None:
    def respond(case: ragbed.Case) -> ragbed.Completion:
        outcomes: tuple[Outcome, ...] = ("ok", "filtered", "error")
        outcome, usage = outcomes[int(case.item)], {"in": 10, "out": 1}
        return ragbed.Completion(outcome=outcome, reply="gold-1", usage=usage, error="server: on purpose")

    cost = _costs(tmp_path, respond, 3)["cost"]
    assert (cost.asked, cost.errors, cost.filtered) == (3, 1, 1)

"""The cost table of a report."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.analysis.costs import CostTally
from ragbed.analysis.metrics.trial import to_scored
from ragbed.models.base import Model
from ragbed.runs.forecast import forecast
from ragbed.runs.prices import cost_of, full_cost, need_price
from ragbed.runs.store import StoredResult
from ragbed.schema import Step
from ragbed.testbeds import right_score
from tests.runs.harness import TalkingModel, make_case
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
    assert (row["n"], row["cost ($)"]) == (20, float(20 * _CALL))
    assert row["cost per case ($)"] == float(_CALL)
    assert row["cost per correct answer ($)"] == float(2 * _CALL)
    text = ragbed.report(run, format="md").text or ""
    assert "| cost per case ($) | cost per correct answer ($) |" in text
    assert "0.00021" in text
    page = ragbed.report(run, format="html", out=tmp_path / "r.html").paths[0].read_text("utf-8")
    assert "Cost of the responses (US dollars)" in page
    assert "回答的费用（美元）" in page
    assert {cell["metric"] for cell in json.loads(ragbed.report(run, format="json").text or "")} >= {"cost_per_case"}


def test_models_without_a_price_have_no_cost(tmp_path: Path) -> None:
    run = ragbed.run(_model("test/free"), DATA, testbeds="noise", noise=0, limit=3, out=tmp_path / "r", progress=False)
    assert "cost" not in run.tables()


def test_a_forecast_has_an_interval_of_the_cost() -> None:
    rows = ragbed.forecast(_model(), DATA, testbeds="noise", noise=0.4, limit=20, progress=False)
    (row,) = rows
    assert row["dollars_low"] <= row["dollars"] <= row["dollars_high"]
    assert row["dollars"] == pytest.approx(float(20 * _CALL), rel=0.3)


def test_a_forecast_evaluates_cases_of_all_lengths_although_conditions_alternate() -> None:
    def answer(case: ragbed.Case) -> ragbed.Completion:
        return ragbed.Completion(outcome="ok", reply="", usage={"in": 1, "out": case.k}, latency_s=case.k)

    model = TalkingModel(answer, _PRICED)
    (row,) = ragbed.forecast(model, DATA, testbeds="length", num_docs=[1, 2, 3, 4, 5], limit=20, progress=False)
    assert row["tokens_out"] == 20 * sum(range(1, 6))
    assert row["minutes"] * model.concurrency * 60 == pytest.approx(20 * sum(range(1, 6)))


@pytest.mark.parametrize(("limit", "minutes"), [({"rpm": 1_200}, 40 / 1_200), ({"tpm": 600_000}, 40 * 712 / 600_000)])
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


def test_the_cost_per_correct_answer_counts_priced_cases_by_track() -> None:
    costs, case = CostTally(), make_case(0)
    usages = [{"in": 1000, "out": 100}] * 4 + [None] * 4
    rights = [(True, True), (False, True), (True, True), (False, False)] * 2
    for usage, (robust, code) in zip(usages, rights, strict=True):
        completion = ragbed.Completion(outcome="ok", reply="Paris", usage=usage)
        scores = {right_score(case): robust, f"code.{right_score(case)}": code}
        costs.add(StoredResult(case, _PRICED, 0, completion), to_scored(case, _PRICED, 0, "ok", scores))
    found = {
        cell.track: cell.estimate.value
        for cell in costs.cells(["robust", "code"])
        if cell.estimate.metric == "cost_per_correct"
    }
    assert found == {"robust": float(4 * _CALL / 2), "code": pytest.approx(float(4 * _CALL / 3))}


def test_a_cached_turn_of_an_episode_counts_with_its_price() -> None:
    cached = Step(messages=(), usage={"in": 100, "out": 10}, cached=True)
    turns = (cached, Step(messages=(), usage={"in": 200, "out": 20}))
    completion = ragbed.Completion(outcome="ok", reply="x", usage={"in": 300, "out": 30}, steps=turns)
    price = need_price(_PRICED)
    both = price({"in": 100, "out": 10}) + price({"in": 200, "out": 20})
    assert (full_cost(completion, price), cost_of(completion, price)) == (both, price({"in": 200, "out": 20}))


def test_the_report_counts_a_cached_turn_of_an_episode_with_its_price() -> None:
    costs, case = CostTally(), make_case(0)
    turns = (
        Step(messages=(), usage={"in": 100, "out": 10}, cached=True),
        Step(messages=(), usage={"in": 200, "out": 20}),
    )
    completion = ragbed.Completion(outcome="ok", reply="x", usage={"in": 300, "out": 30}, steps=turns)
    costs.add(StoredResult(case, _PRICED, 0, completion), to_scored(case, _PRICED, 0, "ok", {right_score(case): True}))
    price = need_price(_PRICED)
    (cost,) = (cell.estimate.value for cell in costs.cells(["robust"]) if cell.estimate.metric == "cost")
    assert cost == pytest.approx(float(price({"in": 100, "out": 10}) + price({"in": 200, "out": 20})))


def test_filtered_calls_are_not_counted_as_errors() -> None:
    tally = CostTally()
    case = make_case(1)
    for outcome in ("ok", "filtered", "error"):
        done = ragbed.Completion(outcome=outcome, reply="gold-1", usage={"in": 10, "out": 1})
        scores = {"correct": True} if outcome == "ok" else None
        tally.add(StoredResult(case, _PRICED, 0, done), to_scored(case, _PRICED, 0, outcome, scores))
    cell = next(tally.cells(["robust"])).estimate
    assert (cell.asked, cell.errors, cell.filtered) == (3, 1, 1)

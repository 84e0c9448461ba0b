"""Costs equal hand calculations, exactly."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from ragbed.runs.budget import Budget
from ragbed.runs.prices import cost_of, find_price
from ragbed.schema import Completion, Message, Step

# The time of the prices below, which are those of genai-prices; DeepSeek has others at night.
_DAY = datetime(2026, 10, 20, 12, tzinfo=UTC)
_MILLION = Decimal(1_000_000)

# Model, usage of one call, and dollars by hand: tokens × dollars per million.
RECORDED = [
    (
        "openai/gpt-4o-mini",
        {"in": 2006, "cached": 1920, "out": 300, "reasoning": 0},
        (86 * Decimal("0.15") + 1920 * Decimal("0.075") + 300 * Decimal("0.6")) / _MILLION,
    ),
    (
        "openai/gpt-5-mini",
        {"in": 75, "cached": 0, "out": 1186, "reasoning": 1024},
        (75 * Decimal("0.25") + 1186 * Decimal(2)) / _MILLION,
    ),
    (
        "anthropic/claude-sonnet-4-5",
        {"in": 3048, "cached": 2000, "written": 1000, "out": 503},
        (48 * Decimal(3) + 2000 * Decimal("0.3") + 1000 * Decimal("3.75") + 503 * Decimal(15)) / _MILLION,
    ),
    (
        "gemini/gemini-2.5-flash",
        {"in": 1012, "cached": 500, "out": 820, "reasoning": 700},
        (512 * Decimal("0.3") + 500 * Decimal("0.03") + 820 * Decimal("2.5")) / _MILLION,
    ),
    ("mistral/mistral-small-latest", {"in": 14, "out": 21}, (14 * Decimal("0.15") + 21 * Decimal("0.6")) / _MILLION),
    (
        "deepseek/deepseek-chat",
        {"in": 320, "cached": 256, "out": 85},
        (64 * Decimal("0.27") + 256 * Decimal("0.07") + 85 * Decimal("1.1")) / _MILLION,
    ),
    (
        "groq/llama-3.3-70b-versatile",
        {"in": 46, "out": 627},
        (46 * Decimal("0.59") + 627 * Decimal("0.79")) / _MILLION,
    ),
    (
        "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
        {"in": 31, "out": 42},
        73 * Decimal("0.88") / _MILLION,
    ),
    (
        "azure/gpt-4o-mini",
        {"in": 1117, "cached": 1024, "out": 46},
        (93 * Decimal("0.15") + 1024 * Decimal("0.075") + 46 * Decimal("0.6")) / _MILLION,
    ),
    (
        "bedrock/anthropic.claude-3-5-haiku-20241022-v1:0",
        {"in": 1500, "cached": 1000, "out": 200},
        (500 * Decimal("0.8") + 1000 * Decimal("0.08") + 200 * Decimal(4)) / _MILLION,
    ),
]


@pytest.mark.parametrize(("model", "usage", "dollars"), RECORDED, ids=[model for model, _, _ in RECORDED])
def test_a_call_costs_what_a_hand_calculation_says(model: str, usage: dict[str, int], dollars: Decimal) -> None:
    price = find_price(model, _DAY)
    assert price is not None
    assert price(usage) == dollars
    assert cost_of(Completion(outcome="ok", reply="x", usage=usage), price) == dollars


def test_what_the_server_reports_is_taken_exactly() -> None:
    usage = {"in": 194, "out": 2, "cost": 30_600_000}  # OpenRouter reported 0.0000306 dollars
    assert cost_of(Completion(outcome="ok", reply="x", usage=usage), None) == Decimal("0.0000306")
    assert cost_of(Completion(outcome="ok", reply="x", usage={"in": 1, "out": 1}), None) is None


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"])
def test_a_call_in_a_batch_costs_half(model: str) -> None:
    price = find_price(model, _DAY)
    assert price is not None
    usage = {"in": 1000, "out": 200}
    assert 2 * price({**usage, "batch": 1}) == price(usage)


def test_each_call_of_a_result_is_priced_and_cached_ones_are_free() -> None:
    price = find_price("openai/gpt-4o-mini", _DAY)
    messages = (Message(role="user", content="?"),)
    steps = tuple(
        Step(messages=messages, reply="x", usage={"in": 100, "out": 10}, cached=cached) for cached in (True, False)
    )
    done = Completion(outcome="ok", reply="x", usage={"in": 200, "out": 20}, steps=steps)
    assert cost_of(done, price) == (100 * Decimal("0.15") + 10 * Decimal("0.6")) / _MILLION


def test_counts_that_contradict_each_other_have_a_price() -> None:
    price = find_price("openai/gpt-4o-mini", _DAY)
    assert price is not None
    assert (
        price({"in": 10, "cached": 500, "out": 5, "reasoning": 50})
        == (10 * Decimal("0.075") + 5 * Decimal("0.6")) / _MILLION
    )
    assert price({}) == 0


@pytest.mark.parametrize(
    "model", ["vllm/Qwen/Qwen2.5-7B", "bundled/smollm2", "openai/no-such-model", "scripted/oracle"]
)
def test_other_models_have_no_price(model: str) -> None:
    assert find_price(model) is None


def test_a_budget_adds_up_without_rounding() -> None:
    budget = Budget(0.3, {"m": lambda _: Decimal("0.1")})
    done = Completion(outcome="ok", reply="x", usage={"in": 1, "out": 1})
    for _ in range(2):
        budget.pay("m", done)
        assert budget.allows()
    budget.pay("m", done)  # 0.1 + 0.1 + 0.1 is 0.3, which floats do not know
    assert not budget.allows()
    assert budget.spending() == {"m": (Decimal("0.3"), 3)}
